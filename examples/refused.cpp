// Six graphs that the plugin refuses or takes in parts. Run it with
// ONEDNN_VERBOSE=check,dispatch to see each reason in the log. A test compares
// the lines with those that docs/troubleshooting.md quotes.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace {

using namespace dnnl::graph;
using lt = logical_tensor;
using type = lt::data_type;

lt tensor(size_t id, type data_type, const lt::dims &dims) {
    return lt(id, data_type, dims, lt::layout_type::strided);
}

// Makes a graph of the ops and compiles its partitions. Prints how many there
// are, or what oneDNN's API threw.
void partition(const char *title, const std::vector<op> &ops) {
    try {
        graph g(dnnl::engine::kind::cpu);
        for (const op &one : ops)
            g.add_op(one);
        g.finalize();
        const auto partitions = g.get_partitions();
        std::printf("%s: %zu partition(s)\n", title, partitions.size());
        const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
        for (const auto &one : partitions)
            one.compile(one.get_input_ports(), one.get_output_ports(), cpu);
    } catch (const std::exception &error) {
        std::printf("%s: %s\n", title, error.what());
    }
}

// src does not have this axis: add_op refuses it.
void wrong_axis() {
    const lt src = tensor(0, type::s8, {16, 64});
    const lt scales = tensor(1, type::f32, {64});
    const lt dst = tensor(2, type::f32, {16, 64});
    op dequantize(
            0, op::kind::DynamicDequantize, {src, scales}, {dst}, "wrong_axis");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_channel");
    dequantize.set_attr<int64_t>(op::attr::axis, 2);
    partition("axis 2 of rank 2", {dequantize});
}

// ONNX forbids zero points of another type than x: add_op refuses them.
void wrong_zero_point() {
    const lt x = tensor(0, type::u8, {16, 64});
    const lt scale = tensor(1, type::f32, {1});
    const lt zero_point = tensor(2, type::s8, {1});
    const lt y = tensor(3, type::f32, {16, 64});
    const op dequantize(0, dnnl_dequant::op_kind::DequantizeLinear,
            {x, scale, zero_point}, {y}, "wrong_zero_point");
    partition("zero point s8, x u8", {dequantize});
}

// The reshape cuts groups of 32 columns: it stays a partition of oneDNN's.
void cut_groups() {
    const lt src = tensor(0, type::u4, {4, 96});
    const lt scales = tensor(1, type::f32, {4, 3});
    const lt middle = tensor(2, type::f32, {4, 96});
    const lt dst = tensor(3, type::f32, {8, 48});
    op dequantize(0, op::kind::DynamicDequantize, {src, scales}, {middle},
            "dequantize");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
    dequantize.set_attr<std::vector<int64_t>>(op::attr::group_shape, {1, 32});
    op reshape(1, op::kind::StaticReshape, {middle}, {dst}, "cut_groups");
    reshape.set_attr<std::vector<int64_t>>(op::attr::shape, {8, 48});
    reshape.set_attr<bool>(op::attr::special_zero, false);
    partition("a reshape that cuts groups", {dequantize, reshape});
}

// There are fewer scales than channels: compile refuses them.
void too_few_scales() {
    const lt src = tensor(0, type::s8, {16, 64});
    const lt scales = tensor(1, type::f32, {32});
    const lt dst = tensor(2, type::f32, {16, 64});
    op dequantize(0, op::kind::DynamicDequantize, {src, scales}, {dst},
            "too_few_scales");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_channel");
    partition("32 scales, 64 channels", {dequantize});
}

// Two ops use the dequantized value, so it has to be in memory and nothing is
// fused. The number of partitions tells, not the log.
void two_users() {
    const lt src = tensor(0, type::s8, {16, 64});
    const lt scales = tensor(1, type::f32, {1});
    const lt middle = tensor(2, type::f32, {16, 64});
    const lt dst = tensor(3, type::f32, {16, 64});
    const lt other = tensor(4, type::f32, {16, 64});
    const op dequantize(0, op::kind::DynamicDequantize, {src, scales}, {middle},
            "dequantize");
    const op relu(1, op::kind::ReLU, {middle}, {dst}, "relu");
    const op tanh(2, op::kind::Tanh, {middle}, {other}, "tanh");
    partition("two users", {dequantize, relu, tanh});
}

// A reshape needs its input's shape, which is unknown when the graph is built:
// it is not fused. Nor can oneDNN compile what has no shape.
void unknown_shape() {
    constexpr int64_t unknown = DNNL_GRAPH_UNKNOWN_DIM;
    const lt src = tensor(0, type::s8, {unknown, 64});
    const lt scales = tensor(1, type::f32, {1});
    const lt middle = tensor(2, type::f32, {unknown, 64});
    const lt dst = tensor(3, type::f32, {unknown, 8, 8});
    const op dequantize(0, op::kind::DynamicDequantize, {src, scales}, {middle},
            "dequantize");
    op reshape(1, op::kind::StaticReshape, {middle}, {dst}, "unknown_shape");
    reshape.set_attr<std::vector<int64_t>>(op::attr::shape, {-1, 8, 8});
    reshape.set_attr<bool>(op::attr::special_zero, false);
    partition("a reshape of an unknown shape", {dequantize, reshape});
}

} // namespace

int main() {
    wrong_axis();
    wrong_zero_point();
    cut_groups();
    too_few_scales();
    two_users();
    unknown_shape();
}
