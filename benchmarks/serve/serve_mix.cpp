#include "serve_mix.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct served_t {
    const char *name;
    type_t src, dst, zps; // zps undef: none
    dims_t dims;
    const char *qtype;
    dims_t group; // of per_group
    bool transposed;
};

graph_value_t value_of(size_t id, type_t type, const dims_t &dims) {
    graph_value_t value;
    value.id = id;
    value.type = type;
    value.dims = dims;
    return value;
}

dims_t scale_dims(const served_t &s) {
    if (!s.group.empty())
        return {s.dims[0] / s.group[0], s.dims[1] / s.group[1]};
    const bool channels = s.qtype == std::string("per_channel");
    return {channels ? s.dims[1] : 1};
}

graph_file_t graph_of(const served_t &s) {
    graph_file_t graph;
    graph.path = s.name;
    graph_op_t op;
    op.name = s.name;
    op.kind = op_kind_t::DynamicDequantize;
    op.kind_name = "DynamicDequantize";
    op.attributes["qtype"] = std::string(s.qtype);
    if (!s.group.empty()) op.attributes["group_shape"] = s.group;
    op.inputs = {0, 1};
    op.outputs = {3};
    graph.values[0] = value_of(0, s.src, s.dims);
    if (s.transposed) graph.values[0].strides = {1, s.dims[0]};
    graph.values[1] = value_of(1, s.dst, scale_dims(s));
    if (s.zps != type_t::undef) {
        op.inputs.push_back(2);
        graph.values[2] = value_of(2, s.zps, scale_dims(s));
    }
    graph.values[3] = value_of(3, s.dst, s.dims);
    graph.ops = {op};
    return graph;
}

} // namespace

std::vector<graph_file_t> standard_mix() {
    using t = type_t;
    const std::vector<served_t> served {
            {"u4 f32 groups of 128", t::u4, t::f32, t::u4, {256, 1024},
                    "per_group", {1, 128}, false},
            {"s4 bf16 groups of 32", t::s4, t::bf16, t::s4, {64, 1024},
                    "per_group", {1, 32}, false},
            {"u4 f16 groups, transposed", t::u4, t::f16, t::u4, {128, 256},
                    "per_group", {32, 1}, true},
            {"u8 f32 per tensor", t::u8, t::f32, t::u8, {512, 1024},
                    "per_tensor", {}, false},
            {"s8 f32 per channel", t::s8, t::f32, t::undef, {512, 512},
                    "per_channel", {}, false},
            {"s8 bf16 per tensor", t::s8, t::bf16, t::undef, {16, 1024},
                    "per_tensor", {}, false},
    };
    std::vector<graph_file_t> mix;
    for (const auto &s : served)
        mix.push_back(graph_of(s));
    return mix;
}

graph_file_t renumbered(const graph_file_t &graph, size_t offset) {
    graph_file_t other = graph;
    other.values.clear();
    for (const auto &item : graph.values) {
        graph_value_t value = item.second;
        value.id += offset;
        other.values[value.id] = value;
    }
    for (auto &op : other.ops) {
        op.id += offset;
        for (auto *ids : {&op.inputs, &op.outputs})
            for (size_t &id : *ids)
                id += offset;
    }
    return other;
}

} // namespace bench
} // namespace dnnl_dequant
