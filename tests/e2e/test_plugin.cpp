// The plugin is there, can be switched off, and says what ran.

#include "e2e/plugin.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include <dnnl_dequant/dnnl_dequant.h>

#include "e2e/dequantize_graph.hpp"
#include "e2e/matmul_graph.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

// Switches back on whatever happens.
class disabled_scope_t {
public:
    disabled_scope_t() { set_plugin_enabled(false); }
    ~disabled_scope_t() { set_plugin_enabled(true); }
    disabled_scope_t(const disabled_scope_t &) = delete;
    disabled_scope_t &operator=(const disabled_scope_t &) = delete;
};

// A case that no oneDNN on CPU takes: a short last group.
dequantize_case_t only_ours() {
    return per_group(dense_case({3, 20}, data_type_t::u4, data_type_t::f32,
                             data_type_t::u4),
            {1, 8});
}

// A case that oneDNN takes as well.
dequantize_case_t also_stock() {
    return dense_case({4, 16}, data_type_t::s8, data_type_t::f32);
}

compiled_partition compiled_of(const dequantize_case_t &c) {
    return compile_or_throw(
            partition_of(op_of(c)), inputs_of(c), {strided(dst_id, c.dst)});
}

TEST(plugin, is_in_the_process) {
    ASSERT_TRUE(plugin_present());
    std::ostringstream of_header;
    of_header << DNNL_DEQUANT_VERSION_MAJOR << '.' << DNNL_DEQUANT_VERSION_MINOR
              << '.' << DNNL_DEQUANT_VERSION_PATCH;
    EXPECT_EQ(plugin_version(), of_header.str());
}

TEST(plugin, names_the_policy_of_the_machine) {
    const char *const wanted = std::getenv("DNNL_DEQUANT_POLICY");
    const std::string policy = plugin_policy();
    EXPECT_EQ(policy, wanted ? wanted : policy);
    EXPECT_NE(policy, "");
    EXPECT_NE(policy, plugin_version());
}

// The environment names the oneDNN, if it is not the build's own.
TEST(plugin, stands_before_the_onednn_that_is_meant) {
    const char *const wanted = std::getenv("DNNL_DEQUANT_TEST_ONEDNN_DIR");
    Dl_info info {};
    void *const version = dlsym(RTLD_DEFAULT, "dnnl_version");
    ASSERT_NE(version, nullptr);
    ASSERT_NE(dladdr(version, &info), 0);
    if (wanted) {
        EXPECT_EQ(std::string(info.dli_fname).find(wanted), 0u)
                << info.dli_fname;
    }
    // The program calls the plugin's function, not oneDNN's.
    Dl_info called {};
    ASSERT_NE(dladdr(reinterpret_cast<void *>(&dnnl_graph_add_op), &called), 0);
    EXPECT_NE(std::string(called.dli_fname).find("libdnnl_dequant"),
            std::string::npos)
            << called.dli_fname;
}

TEST(plugin, is_enabled_unless_the_environment_says_otherwise) {
    EXPECT_EQ(plugin_enabled(), !std::getenv("DNNL_DEQUANT_DISABLE"));
}

TEST(plugin, takes_what_only_it_can) {
    EXPECT_EQ(check_case(only_ours()), "");
}

// The environment names the kernel, if the run is meant for one CPU.
TEST(plugin, runs_the_kernel_that_is_meant) {
    const std::string kernel = kernel_of(compiled_of(only_ours()));
    const char *const wanted = std::getenv("DNNL_DEQUANT_TEST_KERNEL");
    EXPECT_EQ(kernel, wanted ? wanted : kernel);
    EXPECT_NE(kernel, "");
}

TEST(plugin, leaves_everything_to_stock_when_disabled) {
    const disabled_scope_t off;
    EXPECT_FALSE(plugin_enabled());
    EXPECT_NE(status_of([] { compiled_of(only_ours()); }), dnnl_success);
    const auto stock = compiled_of(also_stock());
    EXPECT_EQ(kernel_of(stock), "");
    EXPECT_EQ(check_execution(also_stock(), stock), "");
}

TEST(plugin, samples_the_switch_when_partitions_are_made) {
    auto ours = partition_of(op_of(only_ours()));
    const disabled_scope_t off;
    const auto compiled = ours.compile(inputs_of(only_ours()),
            {strided(dst_id, only_ours().dst)}, cpu_engine());
    EXPECT_NE(kernel_of(compiled), "");
    EXPECT_EQ(check_execution(only_ours(), compiled), "");
}

TEST(plugin, names_no_kernel_for_partitions_that_are_not_its_own) {
    const dims_t dims {2, 8};
    const logical_tensor in(0, logical_tensor::data_type::f32, dims,
            logical_tensor::layout_type::strided);
    const logical_tensor out(1, logical_tensor::data_type::f32, dims,
            logical_tensor::layout_type::strided);
    const auto relu = partition_of(op(0, op::kind::ReLU, {in}, {out}, "relu"));
    const auto compiled = relu.compile({in}, {out}, cpu_engine());
    EXPECT_EQ(kernel_of(compiled), "");
    EXPECT_EQ(not_taken_of(compiled), "");
}

TEST(plugin, tells_the_sentence_about_a_refused_call_once) {
    auto c = only_ours();
    c.scales.dims = {3, 2};
    c.scales.strides = {2, 1};
    (void)last_refusal_of_plugin();
    EXPECT_EQ(status_of([&] { compiled_of(c); }), dnnl_invalid_arguments);
    const std::string sentence = last_refusal_of_plugin();
    EXPECT_NE(sentence.find("scales (id 1) has shape 3x2; expected 3x3"),
            std::string::npos)
            << sentence;
    EXPECT_EQ(last_refusal_of_plugin(), "");
}

// Too many rows for the one, whatever the ISA, so another multiplies.
TEST(plugin, says_why_kernels_it_prefers_are_not_taken) {
    matmul_case_t c;
    c.src = {40, 64};
    c.weights = {64, 96};
    const chain_graph_t g = graph_of(c);
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    const partition p = built.get_partitions().at(0);
    const auto as_they_lie = [&g](std::vector<logical_tensor> ports) {
        for (logical_tensor &port : ports)
            port = strided(port.get_id(), g.tensors[port.get_id()]);
        return ports;
    };
    const auto compiled = p.compile(as_they_lie(p.get_input_ports()),
            as_they_lie(p.get_output_ports()), cpu_engine());
    const std::string reasons = not_taken_of(compiled);
    // Kernels for few rows are preferred on every CPU.
    EXPECT_NE(reasons.find("at most"), std::string::npos) << reasons;
    ASSERT_FALSE(reasons.empty());
    EXPECT_EQ(reasons.back(), '\n');
    // From the cache they are the same.
    EXPECT_EQ(not_taken_of(p.compile(as_they_lie(p.get_input_ports()),
                      as_they_lie(p.get_output_ports()), cpu_engine())),
            reasons);
}

// A program that loads the plugin late has ops that oneDNN itself made.
TEST(plugin, passes_on_ops_that_it_never_saw) {
    Dl_info info {};
    void *const version = dlsym(RTLD_DEFAULT, "dnnl_version");
    ASSERT_NE(dladdr(version, &info), 0);
    void *const onednn = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(onednn, nullptr) << info.dli_fname;
    const auto create = reinterpret_cast<decltype(&dnnl_graph_op_create)>(
            dlsym(onednn, "dnnl_graph_op_create"));
    ASSERT_NE(create, &dnnl_graph_op_create);
    dnnl_graph_op_t unseen = nullptr;
    ASSERT_EQ(
            create(&unseen, 0, dnnl_graph_op_softmax, "unseen"), dnnl_success);
    const auto tensor_of = [](size_t id) {
        const dnnl_dims_t dims {2, 8};
        dnnl_graph_logical_tensor_t tensor;
        dnnl_graph_logical_tensor_init_with_dims(&tensor, id, dnnl_f32, 2, dims,
                dnnl_graph_layout_type_strided,
                dnnl_graph_tensor_property_undef);
        return tensor;
    };
    const auto in = tensor_of(0), out = tensor_of(1);
    const int64_t axis = 1;
    EXPECT_EQ(dnnl_graph_op_set_attr_s64(
                      unseen, dnnl_graph_op_attr_axis, &axis, 1),
            dnnl_success);
    EXPECT_EQ(dnnl_graph_op_add_input(unseen, &in), dnnl_success);
    EXPECT_EQ(dnnl_graph_op_add_output(unseen, &out), dnnl_success);
    graph g(dnnl::engine::kind::cpu);
    EXPECT_EQ(dnnl_graph_add_op(g.get(), unseen), dnnl_success);
    EXPECT_EQ(dnnl_graph_op_destroy(unseen), dnnl_success);
    g.finalize();
    EXPECT_EQ(g.get_partitions().size(), 1u);
    dlclose(onednn);
}

TEST(plugin, keeps_its_kernel_while_partition_and_graph_are_gone) {
    EXPECT_EQ(check_execution(only_ours(), compiled_of(only_ours())), "");
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
