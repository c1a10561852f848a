// patterns/matmul.cpp

#include <gtest/gtest.h>

#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

size_t matmul(pattern_graph_t &g, const std::vector<size_t> &inputs,
        const dims_t &shape, bool transpose_b = false) {
    return g.op(dnnl_graph_op_matmul, inputs, t::f32, shape,
            {{dnnl_graph_op_attr_transpose_b,
                    std::vector<uint8_t> {uint8_t(transpose_b)}}});
}

TEST(matmul, takes_its_weights_and_what_follows) {
    pattern_graph_t g;
    const size_t weights = g.dequantized({6, 4});
    const size_t product
            = matmul(g, {g.tensor(t::f32, {3, 6}), weights}, {3, 4});
    g.relu(g.binary(dnnl_graph_op_add, product, g.tensor(t::f32, {4})));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3"});
}

TEST(matmul, takes_both_factors) {
    pattern_graph_t g;
    const size_t src = g.dequantized({3, 6}), weights = g.dequantized({4, 6});
    matmul(g, {src, weights}, {3, 4}, true);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
}

TEST(matmul, leaves_a_product_of_plain_tensors) {
    pattern_graph_t g;
    matmul(g, {g.tensor(t::f32, {3, 6}), g.tensor(t::f32, {6, 4})}, {3, 4});
    EXPECT_EQ(g.partitions(), parts_t {"0"});
}

TEST(matmul, leaves_weights_of_two_products_alone) {
    pattern_graph_t g;
    const size_t weights = g.dequantized({6, 4});
    matmul(g, {g.tensor(t::f32, {3, 6}), weights}, {3, 4});
    matmul(g, {g.tensor(t::f32, {2, 6}), weights}, {2, 4});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1", "2"}));
}

// oneDNN's partition of both is not cut up for the product alone.
TEST(matmul, is_not_what_is_moved) {
    pattern_graph_t g;
    const size_t product = matmul(
            g, {g.tensor(t::f32, {3, 6}), g.dequantized({6, 4})}, {3, 4});
    g.transpose(product, {1, 0});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1 2"}));
    EXPECT_TRUE(logs(g, {"StaticTranspose", "it moves a product's elements"}));
}

// oneDNN multiplies integers there; what follows is no reason to take it.
TEST(matmul, leaves_a_product_of_integers) {
    pattern_graph_t g;
    const auto dequantized = [&](t type, const dims_t &dims) {
        return g.op(dnnl_graph_op_dequantize, {g.tensor(type, dims)}, t::f32,
                dims,
                {{dnnl_graph_op_attr_scales, std::vector<float> {0.5f}},
                        {dnnl_graph_op_attr_zps, dims_t {0}},
                        {dnnl_graph_op_attr_qtype, std::string("per_tensor")},
                        {dnnl_graph_op_attr_axis, dims_t {1}}});
    };
    const size_t src = dequantized(t::u8, {3, 8});
    const size_t product = matmul(g, {src, dequantized(t::s8, {8, 6})}, {3, 6});
    g.clamp(g.cast(product, t::bf16), 0, 1);
    const parts_t parts = g.partitions();
    EXPECT_EQ(parts[0].find("ours"), std::string::npos) << parts[0];
    EXPECT_EQ(parts[0].find("0 1 2"), 0u) << parts[0];
}

// A gated MLP, which is one partition of oneDNN's.
TEST(matmul, takes_its_parts_of_a_partition_of_onednn_s) {
    pattern_graph_t g;
    const auto weights = [&](const dims_t &dims) {
        const size_t src = g.tensor(t::u4, dims);
        const size_t scales = g.tensor(t::f32, {dims[0] / 2, dims[1]});
        return g.op(dnnl_graph_op_dynamic_dequantize, {src, scales}, t::f32,
                dims,
                {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                        {dnnl_graph_op_attr_group_shape, dims_t {2, 1}}});
    };
    const size_t x = g.tensor(t::f32, {3, 8});
    const size_t gate = matmul(g, {x, weights({8, 6})}, {3, 6});
    const size_t up = matmul(g, {x, weights({8, 6})}, {3, 6});
    const size_t sigmoid
            = g.op(dnnl_graph_op_sigmoid, {gate}, t::f32, {3, 6}, {});
    const size_t silu = g.binary(dnnl_graph_op_multiply, gate, sigmoid);
    const size_t gated = g.binary(dnnl_graph_op_multiply, silu, up);
    matmul(g, {gated, weights({6, 8})}, {3, 8});
    EXPECT_EQ(g.partitions(),
            (parts_t {"ours: 0 1", "ours: 2 3 6", "4", "5", "ours: 7 8"}));
    EXPECT_TRUE(g.claim(1)->upstream.empty());
}

} // namespace
} // namespace dnnl_dequant
