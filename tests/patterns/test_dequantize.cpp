// Dequantize ops as the heart of a chain, and layout ops before them.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

// A dequantize of any kind: 4x6, per tensor, with a zero point.
size_t dequantize(pattern_graph_t &g, int kind, t src, t scale, t dst) {
    const size_t x = g.tensor(src, {4, 6});
    const size_t s = g.tensor(scale, {1}), z = g.tensor(src, {1});
    return g.op(kind, {x, s, z}, dst, {4, 6});
}

TEST(pattern_dequantize, of_every_kind_begins_a_chain) {
    const int kinds[] = {dnnl_graph_op_dynamic_dequantize,
            dnnl_dequant_op_DequantizeLinear,
            dnnl_dequant_op_ExtendedDequantizeLinear};
    for (const int kind : kinds) {
        pattern_graph_t g;
        g.cast(dequantize(g, kind, t::u8, t::f32, t::f32), t::bf16);
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"}) << kind;
        EXPECT_EQ(to_string(g.lowered(0).problem),
                "24;src:u8:1;arg1:u8:0;arg2:f32:0;dst:bf16:1;sub:arg1;mul:"
                "arg2");
    }
}

TEST(pattern_dequantize, of_types_of_ours_does) {
    pattern_graph_t g;
    const size_t value = dequantize(
            g, dnnl_dequant_op_DequantizeLinear, t::u2, t::bf16, t::f16);
    g.cast(value, t::f32);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u2:1;arg1:u2:0;arg2:bf16:0;dst:f32:1;sub:arg1;mul:arg2;"
            "round:f16");
}

TEST(pattern_dequantize, by_itself_is_no_chain) {
    pattern_graph_t g;
    g.dequantized({4, 6});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
    EXPECT_EQ(g.ours(0)->kind, partition_kind_t::dequantize);
}

TEST(pattern_dequantize, keeps_small_floats_zero_points_to_look_at) {
    pattern_graph_t g;
    g.cast(dequantize(g, dnnl_dequant_op_DequantizeLinear, t::f8_e4m3, t::f32,
                   t::f32),
            t::bf16);
    g.partitions();
    const auto lowered = g.lowered(0);
    ASSERT_EQ(lowered.must_be_zero.size(), 1u);
    EXPECT_EQ(lowered.must_be_zero[0].id, 2u);
}

TEST(pattern_dequantize, takes_in_the_layout_ops_before_it) {
    pattern_graph_t g;
    const size_t raw = g.tensor(t::u4, {6, 2, 2});
    const size_t src = g.reorder(g.transpose(g.reshape(raw, {6, 4}), {1, 0}));
    g.dequantize_groups(src, {1, 3});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3"});
    const auto lowered = g.lowered(0);
    EXPECT_EQ(lowered.inputs[0].id, raw);
    // dst lies as the raw tensor does.
    EXPECT_EQ(strides_of(lowered.outputs[0]), (dims_t {1, 4}));
    EXPECT_EQ(to_string(lowered.problem),
            "2x3x4;src:u4:12:4:1;arg1:f32:1:0:2;dst:f32:12:4:1;mul:arg1");
}

TEST(pattern_dequantize, takes_no_float_ops_before_it) {
    pattern_graph_t g;
    const size_t src = g.relu(g.tensor(t::f32, {4, 6}));
    const size_t scale = g.tensor(t::f32, {1});
    g.op(dnnl_dequant_op_ExtendedDequantizeLinear, {src, scale}, t::f32,
            {4, 6});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(1).problem),
            "24;src:f32:1;arg1:f32:0;dst:f32:1;clamp:0:inf;mul:arg1");
}

TEST(pattern_dequantize, of_scales_that_do_not_fit_is_told_when_compiled) {
    pattern_graph_t g;
    const size_t src = g.tensor(t::u8, {4, 6}), scale = g.tensor(t::f32, {5});
    const size_t value = g.op(
            dnnl_graph_op_dynamic_dequantize, {src, scale}, t::f32, {4, 6});
    g.cast(value, t::bf16);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    try {
        g.lowered(0);
        ADD_FAILURE() << "was lowered";
    } catch (const std::runtime_error &refusal) {
        EXPECT_STREQ(refusal.what(),
                "DynamicDequantize \"op0\" (id 0): scales (id 1) has shape 5; "
                "expected one element (per_tensor)");
    }
}

TEST(pattern_dequantize, of_an_output_that_does_not_fit_is_told_when_compiled) {
    pattern_graph_t g;
    const size_t src = g.tensor(t::u8, {4, 6}), scale = g.tensor(t::f32, {1});
    g.op(dnnl_graph_op_dynamic_dequantize, {src, scale}, t::f32, {4, 7});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
    EXPECT_THROW(g.lowered(0), std::runtime_error);
}

} // namespace
} // namespace dnnl_dequant
