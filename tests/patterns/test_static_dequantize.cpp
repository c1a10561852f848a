// oneDNN's static Dequantize in a chain.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"
#include "upstream/mapping.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

using floats_t = std::vector<float>;

size_t dequantize(pattern_graph_t &g, size_t src, const floats_t &scales,
        const dims_t &zps, int64_t axis = 1) {
    return g.op(dnnl_graph_op_dequantize, {src}, t::f32, {4, 6},
            {{dnnl_graph_op_attr_scales, scales}, {dnnl_graph_op_attr_zps, zps},
                    {dnnl_graph_op_attr_qtype,
                            std::string(scales.size() > 1 ? "per_channel"
                                                          : "per_tensor")},
                    {dnnl_graph_op_attr_axis, dims_t {axis}}});
}

TEST(pattern_static_dequantize, is_ours_by_itself) {
    pattern_graph_t g;
    dequantize(g, g.tensor(t::u8, {4, 6}), {0.5f}, {3});
    if (!has(effective_isa(), isa_avx2)) GTEST_SKIP() << "oneDNN's is faster";
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u8:1;arg1:s32:0;arg2:f32:0;dst:f32:1;sub:arg1;mul:arg2");
}

TEST(pattern_static_dequantize, begins_a_chain) {
    pattern_graph_t g;
    g.cast(dequantize(g, g.tensor(t::u8, {4, 6}), {0.5f}, {3}), t::bf16);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    const auto lowered = g.lowered(0);
    EXPECT_EQ(to_string(lowered.problem),
            "24;src:u8:1;arg1:s32:0;arg2:f32:0;dst:bf16:1;sub:arg1;mul:arg2");
    ASSERT_EQ(lowered.operands.size(), 4u);
    EXPECT_EQ(lowered.operands[1].constant, 0);
    EXPECT_EQ(lowered.operands[2].constant, 1);
    EXPECT_EQ(lowered.constants[1].size(), sizeof(float));
}

TEST(pattern_static_dequantize, has_no_subtraction_of_zeros) {
    pattern_graph_t g;
    g.cast(dequantize(g, g.tensor(t::s8, {4, 6}), {0.5f}, {0}), t::f16);
    g.partitions();
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:s8:1;arg1:f32:0;dst:f16:1;mul:arg1");
}

TEST(pattern_static_dequantize, has_channels_of_either_axis) {
    for (const int64_t axis : {0, 1, -1, -2}) {
        const bool last = axis == 1 || axis == -1;
        pattern_graph_t g;
        const floats_t scales(last ? 6u : 4u, 0.25f);
        const dims_t zps(scales.size(), 7);
        const size_t src = g.tensor(t::u8, {4, 6});
        g.cast(dequantize(g, src, scales, zps, axis), t::bf16);
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"}) << axis;
        EXPECT_EQ(to_string(g.lowered(0).problem),
                last ? "4x6;src:u8:6:1;arg1:s32:0:1;arg2:f32:0:1;dst:bf16:6:1;"
                       "sub:arg1;mul:arg2"
                     : "4x6;src:u8:6:1;arg1:s32:1:0;arg2:f32:1:0;dst:bf16:6:1;"
                       "sub:arg1;mul:arg2");
    }
}

TEST(pattern_static_dequantize, is_the_other_value_of_a_sum) {
    pattern_graph_t g;
    const size_t a = g.dequantized({4, 6});
    const size_t b = dequantize(g, g.tensor(t::s8, {4, 6}), {0.5f}, {1});
    g.binary(dnnl_graph_op_add, a, b);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
    const auto lowered = g.lowered(0);
    EXPECT_EQ(lowered.constants.size(), 2u);
    EXPECT_EQ(lowered.operands[3].constant, 0);
    EXPECT_EQ(lowered.operands[4].constant, 1);
}

TEST(pattern_static_dequantize, of_other_channels_than_src_s_is_left_alone) {
    pattern_graph_t g;
    const size_t src = g.tensor(t::u8, {4, 6});
    const floats_t scales(5, 0.25f);
    g.cast(dequantize(g, src, scales, dims_t(5, 7)), t::bf16);
    if (g.status() != dnnl_success) return;
    EXPECT_EQ(g.partitions(), (parts_t {"0", "1"}));
    EXPECT_EQ(g.ours(0), nullptr);
}

} // namespace
} // namespace dnnl_dequant
