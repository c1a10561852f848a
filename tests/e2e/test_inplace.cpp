// Ports whose memory dst may take: told by the compiled partition, and the
// same results when it does.

#include <gtest/gtest.h>

#include <cstring>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/chain_graph.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using pairs_t = std::vector<std::pair<size_t, size_t>>;

size_t add_tensor(chain_graph_t &g, t type, const dims_t &dims) {
    g.tensors.push_back({type, dims, support::dense_strides(dims)});
    return g.tensors.size() - 1;
}

// u8 src (0) and f32 scale (1) -> 2; with side (3) -> Add -> 4, all of `dst`.
chain_graph_t residual(const dims_t &dims, t dst = t::f32) {
    chain_graph_t g;
    for (const t type : {t::u8, t::f32, dst, dst, dst})
        add_tensor(g, type, g.tensors.size() == 1 ? dims_t {1} : dims);
    g.tensors[1].type = dst;
    chain_node_t dequantize {op::kind::DynamicDequantize, {0, 1}, {2}};
    g.nodes = {dequantize, {op::kind::Add, {2, 3}, {4}}};
    return g;
}

// f32 x (0), f32 scale (1) -> 2.
chain_graph_t extended(const dims_t &dims) {
    chain_graph_t g;
    add_tensor(g, t::f32, dims);
    add_tensor(g, t::f32, {1});
    add_tensor(g, t::f32, dims);
    chain_node_t dequantize {op_kind::ExtendedDequantizeLinear, {0, 1}, {2}};
    dequantize.dequantize.op = support::dequantize_op_t::extended_linear;
    g.nodes = {dequantize};
    return g;
}

compiled_partition compiled_of(const chain_graph_t &g, const partition &p) {
    const auto as_they_lie = [&g](const std::vector<logical_tensor> &ports) {
        std::vector<logical_tensor> result;
        for (const auto &port : ports)
            result.push_back(strided(port.get_id(), g.tensors[port.get_id()]));
        return result;
    };
    return compile_or_throw(p, as_they_lie(p.get_input_ports()),
            as_they_lie(p.get_output_ports()));
}

pairs_t inplace_ports(const chain_graph_t &g) {
    const auto compiled = compiled_of(g, only_partition(g));
    EXPECT_NE(kernel_of(compiled), "");
    return compiled.get_inplace_ports();
}

// Computes dst in the place of `input`, and compares it with dst elsewhere.
void expect_in_place(const chain_graph_t &g, size_t input) {
    const partition p = only_partition(g);
    const auto compiled = compiled_of(g, p);
    const size_t dst = g.nodes.back().outputs[0];
    ASSERT_EQ(compiled.get_inplace_ports(), (pairs_t {{input, dst}}));
    const auto expected = initial_values(g, support::values_t::any, 7);
    const auto got = initial_values(g, support::values_t::any, 7);
    std::memcpy(
            expected[dst].data(), expected[input].data(), expected[dst].size());
    for (size_t id = 0; id < g.nodes.size(); ++id)
        ASSERT_TRUE(compute(g, id, expected));
    const auto tensor_of = [&](const logical_tensor &port, size_t place) {
        return tensor(strided(port.get_id(), g.tensors[port.get_id()]),
                cpu_engine(), got[place].data());
    };
    std::vector<tensor> from;
    for (const auto &port : p.get_input_ports())
        from.push_back(tensor_of(port, port.get_id()));
    compiled.execute(
            cpu_stream(), from, {tensor_of(p.get_output_ports()[0], input)});
    cpu_stream().wait();
    EXPECT_EQ(support::difference(g.tensors[dst].type, expected[dst].data(),
                      got[input].data(), g.tensors[dst].span()),
            "")
            << kernel_of(compiled);
    EXPECT_TRUE(got[input].intact());
}

TEST(inplace_ports, are_those_of_dst_s_size_and_place) {
    EXPECT_EQ(inplace_ports(residual({4, 6})), (pairs_t {{3, 4}}));
    EXPECT_EQ(inplace_ports(extended({4, 6})), (pairs_t {{0, 2}}));
    chain_graph_t narrow = extended({4, 6});
    narrow.tensors[2].type = t::bf16;
    EXPECT_EQ(inplace_ports(narrow), pairs_t());
}

TEST(inplace_ports, are_none_where_dst_lies_otherwise) {
    chain_graph_t g = extended({4, 6});
    g.tensors[2].strides = {1, 4};
    EXPECT_EQ(inplace_ports(g), pairs_t());
    g.tensors[0].strides = {1, 4};
    EXPECT_EQ(inplace_ports(g), (pairs_t {{0, 2}}));
    g.tensors[2].strides = {8, 1};
    EXPECT_EQ(inplace_ports(g), pairs_t());
}

TEST(inplace_ports, are_none_where_a_tensor_broadcasts) {
    chain_graph_t g = residual({4, 6});
    g.tensors[3] = {t::f32, {6}, {1}};
    EXPECT_EQ(inplace_ports(g), pairs_t());
}

TEST(inplace_ports, are_those_of_inputs_that_are_read_once) {
    // x + x * scale, where x comes from one tensor.
    chain_graph_t g = extended({4, 6});
    add_tensor(g, t::f32, {4, 6});
    g.nodes.push_back({op::kind::Add, {2, 0}, {3}});
    EXPECT_EQ(inplace_ports(g), pairs_t());
}

TEST(inplace_ports, follow_a_transpose) {
    chain_graph_t g = extended({4, 6});
    add_tensor(g, t::f32, {6, 4});
    g.nodes.push_back({op::kind::StaticTranspose, {2}, {3}, {1, 0}});
    EXPECT_EQ(inplace_ports(g), pairs_t());
    g.tensors[3].strides = {1, 6}; // element for element where it was
    EXPECT_EQ(inplace_ports(g), (pairs_t {{0, 3}}));
}

TEST(inplace_ports, serve_execution) {
    for (const dims_t &dims : {dims_t {2}, dims_t {7, 5}, dims_t {3, 257},
                 dims_t {64, 130}, dims_t {300, 700}}) {
        expect_in_place(extended(dims), 0);
        for (const t dst : {t::f32, t::bf16, t::f16})
            expect_in_place(residual(dims, dst), 3);
    }
    chain_graph_t g = extended({129, 70});
    g.tensors[0].strides = g.tensors[2].strides = {1, 131};
    expect_in_place(g, 0);
    // A residual that is transposed on its way, next to the tensor in place.
    g = residual({70, 133});
    g.tensors[0].strides = {1, 70};
    expect_in_place(g, 3);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
