// Layout ops: in a chain, and of quantized tensors alone.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

TEST(pattern_layout, ops_in_any_order_cost_no_more_than_strides) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6, 10});
    const size_t dst = g.reorder(g.reshape(
            g.transpose(g.reshape(value, {24, 10}), {1, 0}), {10, 4, 6}));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3 4"});
    const auto lowered = g.lowered(0);
    EXPECT_EQ(lowered.outputs[0].id, dst);
    EXPECT_EQ(dims_of(lowered.outputs[0]), (dims_t {10, 4, 6}));
    // In src's order dst is as dense as src is.
    EXPECT_EQ(to_string(lowered.problem),
            "240;src:u8:1;arg1:f32:0;dst:f32:1;mul:arg1");
}

TEST(pattern_layout, gives_dst_src_s_order) {
    pattern_graph_t g;
    const size_t src = g.tensor(t::u8, {4, 6});
    g.set_strides(src, {1, 4});
    const size_t scale = g.tensor(t::f32, {1});
    g.transpose(g.op(dnnl_graph_op_dynamic_dequantize, {src, scale}, t::f32,
                        {4, 6}),
            {1, 0});
    g.partitions();
    EXPECT_EQ(strides_of(g.lowered(0).outputs[0]), (dims_t {4, 1}));
}

TEST(pattern_layout, order_counts_from_the_end_too) {
    pattern_graph_t g;
    g.transpose(g.dequantized({4, 6, 10}), {-1, 0, -2});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(dims_of(g.lowered(0).outputs[0]), (dims_t {10, 4, 6}));
}

TEST(pattern_layout, reshape_finds_the_dimension_that_is_left) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.op(dnnl_graph_op_static_reshape, {value}, t::f32, {4, 2, 3},
            {{dnnl_graph_op_attr_shape, dims_t {0, -1, 3}},
                    {dnnl_graph_op_attr_special_zero,
                            std::vector<uint8_t> {1}}});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(dims_of(g.lowered(0).outputs[0]), (dims_t {4, 2, 3}));
}

TEST(pattern_layout, of_floats_alone_stays_onednn_s) {
    pattern_graph_t g;
    g.reshape(g.tensor(t::f32, {4, 6}), {24});
    g.transpose(g.tensor(t::bf16, {4, 6}), {1, 0});
    EXPECT_EQ(g.partitions(), (parts_t {"0", "1"}));
}

TEST(pattern_layout, of_a_quantized_tensor_alone_is_a_copy) {
    pattern_graph_t g;
    g.transpose(g.tensor(t::u4, {4, 6}), {1, 0});
    g.reshape(g.tensor(t::s8, {4, 6}), {2, 12});
    g.reorder(g.tensor(t::u16, {4, 6}));
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "ours: 1", "ours: 2"}));
    EXPECT_EQ(g.ours(0)->kind, partition_kind_t::chain);
    EXPECT_TRUE(g.lowered(0).problem.steps.empty());
}

TEST(pattern_layout, ops_of_a_quantized_tensor_are_one_copy) {
    pattern_graph_t g;
    g.reorder(g.transpose(g.tensor(t::u4, {4, 6}), {1, 0}));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
}

// The value between is dense.
TEST(pattern_layout, of_no_common_cut_begins_a_copy_anew) {
    pattern_graph_t g;
    const size_t moved = g.transpose(g.tensor(t::s4, {4, 6}), {1, 0});
    const size_t src = g.reshape(moved, {4, 6});
    g.op(dnnl_graph_op_dynamic_dequantize, {src, g.tensor(t::f32, {1})}, t::f32,
            {4, 6});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "ours: 1 2"}));
    EXPECT_TRUE(logs(g, {"StaticReshape \"op1\" (id 1)",
                                "a reshape from 6x4 to 4x6, which have no "
                                "common cut"}));
}

TEST(pattern_layout, of_no_common_cut_ends_the_chain) {
    pattern_graph_t g;
    const size_t value = g.transpose(g.dequantized({4, 6}), {1, 0});
    g.reshape(value, {4, 6});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 1", "2"}));
    EXPECT_TRUE(logs(g, {"StaticReshape \"op2\" (id 2)",
                                "a reshape from 6x4 to 4x6, which have no "
                                "common cut"}));
}

TEST(pattern_layout, that_would_cut_groups_ends_the_chain) {
    pattern_graph_t g;
    const size_t value = g.dequantize_groups(g.tensor(t::u8, {4, 96}), {1, 32});
    g.reshape(value, {4, 4, 24});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(logs(g, {"StaticReshape \"op1\" (id 1)",
                                "a dimension of 96 cut every 24 would cut "
                                "groups of 32"}));
}

TEST(pattern_layout, of_a_copy_that_no_kernel_makes_is_not_selected) {
    pattern_graph_t g;
    const size_t src = g.tensor(t::u8, {4, 6});
    g.set_strides(src, {1, 4});
    g.reshape(src, {6, 4});
    const size_t dense = g.tensor(t::u8, {4, 6});
    g.reshape(dense, {6, 4});
    // The op has been recorded with dense strides before.
    EXPECT_EQ(g.partitions(), (parts_t {"0", "ours: 1"}));
    EXPECT_TRUE(logs(g, {"StaticReshape \"op0\" (id 0)", "no common cut"}));
}

TEST(pattern_layout, that_does_not_fit_is_refused_by_add_op) {
    pattern_graph_t g;
    const size_t src = g.tensor(t::u8, {4, 6});
    g.reshape(src, {4, 7});
    EXPECT_EQ(g.status(), dnnl_invalid_shape);
    g.reshape(src, {-2, -12});
    EXPECT_EQ(g.status(), dnnl_invalid_shape);
    const dim_t huge = dim_t {1} << 32;
    g.reshape(src, {huge, huge});
    EXPECT_EQ(g.status(), dnnl_invalid_shape);
    g.op(dnnl_graph_op_static_transpose, {src}, t::u8, {4, 6},
            {{dnnl_graph_op_attr_order, dims_t {0, 0}}});
    EXPECT_EQ(g.status(), dnnl_invalid_graph_op);
    g.op(dnnl_graph_op_static_transpose, {src}, t::u8, {4, 6},
            {{dnnl_graph_op_attr_order, dims_t {0, 1, 2}}});
    EXPECT_EQ(g.status(), dnnl_invalid_shape);
    g.op(dnnl_graph_op_reorder, {src}, t::s8, {4, 6});
    EXPECT_EQ(g.status(), dnnl_invalid_graph_op);
}

// oneDNN's add_op takes it for floats.
TEST(pattern_layout, that_does_not_fit_leaves_the_rest) {
    for (const bool reshapes : {true, false}) {
        pattern_graph_t g;
        const size_t value = g.dequantized({4, 6});
        if (reshapes) g.reshape(value, {4, 7});
        else
            g.op(dnnl_graph_op_static_transpose, {value}, t::f32, {4, 6},
                    {{dnnl_graph_op_attr_order, dims_t {0, 0}}});
        g.transpose(g.reshape(g.dequantized({4, 6}), {3, 8}), {1, 0});
        EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1", "ours: 2 3 4"}));
        EXPECT_TRUE(logs(g, {"\"op1\" (id 1)"}));
    }
}

TEST(pattern_layout, whose_output_has_another_shape_is_not_fused) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.op(dnnl_graph_op_static_transpose, {value}, t::f32, {4, 6},
            {{dnnl_graph_op_attr_order, dims_t {1, 0}}});
    if (g.status() != dnnl_success) return;
    EXPECT_EQ(g.partitions().front(), "ours: 0");
    EXPECT_TRUE(logs(g, {"StaticTranspose \"op1\" (id 1)",
                                "its output has shape 4x6; expected 6x4"}));
}

} // namespace
} // namespace dnnl_dequant
