// The file that ONEDNN_GRAPH_DUMP=graph writes, letter by letter: tools that
// read oneDNN's dumps read it.

#include "graph/dump.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "graph/logical_tensor.hpp"
#include "oneapi/dnnl/dnnl.h"

namespace dnnl_dequant {
namespace {

logical_tensor_t tensor(size_t id, dnnl_data_type_t type, const dims_t &dims) {
    logical_tensor_t tensor {};
    tensor.id = id;
    tensor.data_type = type;
    set_layout(tensor, dims, dense_strides(dims));
    return tensor;
}

op_record_t relu(size_t id, const std::string &name) {
    op_record_t op;
    op.id = id;
    op.kind = dnnl_graph_op_relu;
    op.name = name;
    return op;
}

std::string begin_of(
        const char *mode = "strict", const char *to_integers = "false") {
    const dnnl_version_t *const v = dnnl_version();
    std::ostringstream text;
    text << "{\"version\": \"" << v->major << '.' << v->minor << '.' << v->patch
         << "\",\n \"engine_kind\": \"cpu\",\n \"fpmath_mode\": \"" << mode
         << "\",\n \"fpmath_mode_apply_to_int\": \"" << to_integers
         << "\",\n \"graph\": [\n";
    return text.str();
}

TEST(graph_dump, has_ops_with_their_tensors) {
    graph_record_t graph;
    graph.ops = {relu(3, "a \"name\"\\\n"), relu(4, "b")};
    auto &op = graph.ops[0];
    op.inputs = {tensor(0, dnnl_f32, {2, 3}), tensor(1, dnnl_boolean, {})};
    op.inputs[0].property = dnnl_graph_tensor_property_constant;
    op.inputs[1].property = dnnl_graph_tensor_property_variable;
    op.outputs = {tensor(2, dnnl_bf16, {5}), tensor(5, dnnl_u8, {5})};
    op.outputs[0].layout_type = dnnl_graph_layout_type_any;
    op.outputs[1].layout_type = dnnl_graph_layout_type_opaque;
    op.outputs[1].ndims = -1;
    graph.ops[1].inputs = {tensor(6, dnnl_s8, {1})};
    graph.ops[1].inputs[0].layout_type = dnnl_graph_layout_type_undef;
    graph.ops[1].inputs[0].property
            = static_cast<dnnl_graph_tensor_property_t>(3);
    EXPECT_EQ(graph_json(graph),
            begin_of()
                    + R"(  {"id": 3, "name": "a \"name\"\\\u0020", "kind": "ReLU",
   "attrs": {},
   "inputs": [
    {"id": 0, "dtype": "f32", "shape": [2, 3], "stride": [3, 1], "layout_type": "strided", "property_type": "constant"},
    {"id": 1, "dtype": "boolean", "shape": [], "stride": [], "layout_type": "strided", "property_type": "variable"}],
   "outputs": [
    {"id": 2, "dtype": "bf16", "shape": [5], "stride": [], "layout_type": "any", "property_type": "undef"},
    {"id": 5, "dtype": "u8", "shape": [], "stride": [], "layout_type": "opaque", "property_type": "undef"}]},
  {"id": 4, "name": "b", "kind": "ReLU",
   "attrs": {},
   "inputs": [
    {"id": 6, "dtype": "s8", "shape": [1], "stride": [], "layout_type": "undef", "property_type": "host_scalar"}],
   "outputs": []}]}
)");
}

// A range of attribute says whether one number stands in a list.
TEST(graph_dump, has_attributes_of_every_type) {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    graph_record_t graph;
    graph.ops = {relu(0, "op")};
    graph.ops[0].attributes = {
            {dnnl_graph_op_attr_alpha, std::vector<float> {0.1f}},
            {dnnl_graph_op_attr_max, std::vector<float> {infinite}},
            {dnnl_graph_op_attr_min, std::vector<float> {-infinite}},
            {dnnl_graph_op_attr_scales, std::vector<float> {0.5f}},
            {dnnl_graph_op_attr_axis, std::vector<int64_t> {-1}},
            {dnnl_graph_op_attr_order, std::vector<int64_t> {1, 0}},
            {dnnl_graph_op_attr_zps, std::vector<int64_t> {7}},
            {dnnl_graph_op_attr_keep_dims, std::vector<uint8_t> {1}},
            {dnnl_graph_op_attr_special_zero, std::vector<uint8_t> {0}},
            {dnnl_graph_op_attr_qtype, std::string("per_tensor")},
    };
    EXPECT_EQ(graph_json(graph),
            begin_of() + R"(  {"id": 0, "name": "op", "kind": "ReLU",
   "attrs": {
    "alpha": {"type": "f32", "value": 0.100000001},
    "max": {"type": "f32", "value": 3.40282347e+38},
    "min": {"type": "f32", "value": -3.40282347e+38},
    "scales": {"type": "f32[]", "value": [0.5]},
    "axis": {"type": "s64", "value": -1},
    "order": {"type": "s64[]", "value": [1, 0]},
    "zps": {"type": "s64[]", "value": [7]},
    "keep_dims": {"type": "bool", "value": 1},
    "special_zero": {"type": "bool", "value": 0},
    "qtype": {"type": "string", "value": "per_tensor"}},
   "inputs": [],
   "outputs": []}]}
)");
}

TEST(graph_dump, has_the_graph_s_mode) {
    graph_record_t graph;
    const std::vector<std::pair<dnnl_fpmath_mode_t, const char *>> modes {
            {dnnl_fpmath_mode_strict, "strict"},
            {dnnl_fpmath_mode_bf16, "bf16"},
            {dnnl_fpmath_mode_f16, "f16"},
            {dnnl_fpmath_mode_tf32, "tf32"},
            {dnnl_fpmath_mode_any, "any"},
    };
    for (const auto &[mode, name] : modes) {
        graph.fpmath_mode = mode;
        graph.fpmath_apply_to_int = mode == dnnl_fpmath_mode_f16;
        EXPECT_EQ(graph_json(graph),
                begin_of(name, graph.fpmath_apply_to_int ? "true" : "false")
                        + "]}\n");
    }
}

TEST(graph_dump, is_wanted_where_the_environment_says_graph) {
    const auto wanted = [](const char *value) {
        setenv("ONEDNN_GRAPH_DUMP", value, 1);
        const bool result = dump_wanted();
        unsetenv("ONEDNN_GRAPH_DUMP");
        return result;
    };
    EXPECT_TRUE(wanted("graph"));
    EXPECT_TRUE(wanted("subgraph,graph"));
    EXPECT_FALSE(wanted("subgraph"));
    EXPECT_FALSE(wanted(""));
    EXPECT_FALSE(dump_wanted());
}

std::string content(const std::string &path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// In a process and a folder of its own. A file that is there stays as it is.
TEST(graph_dump, is_one_new_file_a_graph) {
    char folder[] = "graph_dump_XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    graph_record_t graph;
    const pid_t child = fork();
    if (child == 0) {
        const std::string prefix
                = "graph-dnnl_dequant-" + std::to_string(getpid()) + "-";
        if (chdir(folder) != 0) _exit(1);
        std::ofstream(prefix + "1.json") << "a user's";
        dump(graph);
        graph.ops = {relu(0, "op")};
        dump(graph);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    const std::string prefix = std::string(folder) + "/graph-dnnl_dequant-"
                               + std::to_string(child) + "-";
    EXPECT_EQ(content(prefix + "0.json"), begin_of() + "]}\n");
    EXPECT_EQ(content(prefix + "1.json"), "a user's");
    graph.ops = {relu(0, "op")};
    EXPECT_EQ(content(prefix + "2.json"), graph_json(graph));
    for (const char *end : {"0.json", "1.json", "2.json"})
        EXPECT_EQ(unlink((prefix + end).c_str()), 0) << end;
    EXPECT_EQ(rmdir(folder), 0);
}

} // namespace
} // namespace dnnl_dequant
