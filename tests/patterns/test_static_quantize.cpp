// oneDNN's static Quantize in a chain.

#include <gtest/gtest.h>

#include <cstring>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"
#include "upstream/mapping.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

using floats_t = std::vector<float>;

attributes_t attributes(const floats_t &scales, const dims_t &zps) {
    return {{dnnl_graph_op_attr_scales, scales}, {dnnl_graph_op_attr_zps, zps},
            {dnnl_graph_op_attr_qtype,
                    std::string(
                            scales.size() > 1 ? "per_channel" : "per_tensor")},
            {dnnl_graph_op_attr_axis, dims_t {1}}};
}

size_t quantize(pattern_graph_t &g, size_t value, t dst, const floats_t &scales,
        const dims_t &zps) {
    return g.op(dnnl_graph_op_quantize, {value}, dst, {4, 6},
            attributes(scales, zps));
}

TEST(pattern_static_quantize, is_ours_by_itself) {
    pattern_graph_t g;
    quantize(g, g.tensor(t::f32, {4, 6}), t::u8, {0.5f}, {3});
    if (!has(effective_isa(), isa_avx2)) GTEST_SKIP() << "oneDNN's is faster";
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:f32:1;arg1:f32:0;arg2:s32:0;dst:u8:1;mul:arg1;add:arg2;"
            "clamp:0:255");
}

// oneDNN makes one partition of these, in integers. Ours would be no faster.
// Nobody else has the layout that oneDNN may choose for the value between.
TEST(pattern_static_quantize, of_a_value_of_onednn_s_is_ours_alone) {
    if (!has(effective_isa(), isa_avx2)) GTEST_SKIP() << "oneDNN's is faster";
    pattern_graph_t g;
    quantize(g, g.relu(g.tensor(t::f32, {4, 6})), t::u8, {0.5f}, {3});
    EXPECT_EQ(g.partitions(), (parts_t {"0", "ours: 1"}));
}

TEST(pattern_static_quantize, leaves_to_onednn_what_it_fuses_whole) {
    pattern_graph_t g;
    const size_t value
            = g.op(dnnl_graph_op_dequantize, {g.tensor(t::u8, {4, 6})}, t::f32,
                    {4, 6}, attributes({0.25f}, {1}));
    quantize(g, g.reorder(value), t::u8, {0.5f}, {3});
    EXPECT_EQ(g.partitions(), parts_t {"0 1 2"});
}

TEST(pattern_static_quantize, ends_a_chain) {
    pattern_graph_t g;
    quantize(g, g.dequantized({4, 6}), t::s8, {0.5f}, {3});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    const auto lowered = g.lowered(0);
    EXPECT_EQ(to_string(lowered.problem),
            "24;src:u8:1;arg1:f32:0;arg2:f32:0;arg3:s32:0;dst:s8:1;mul:arg1;"
            "mul:arg2;add:arg3;clamp:-128:127");
    // The reciprocal of the attribute's scale.
    float factor = 0;
    ASSERT_EQ(lowered.constants.at(0).size(), sizeof(factor));
    std::memcpy(&factor, lowered.constants[0].data(), sizeof(factor));
    EXPECT_EQ(factor, 2.f);
}

TEST(pattern_static_quantize, has_channels) {
    pattern_graph_t g;
    quantize(g, g.dequantized({4, 6}), t::u8, floats_t(6, 0.5f), dims_t(6, 3));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "4x6;src:u8:6:1;arg1:f32:0:0;arg2:f32:0:1;arg3:s32:0:1;dst:u8:6:1;"
            "mul:arg1;mul:arg2;add:arg3;clamp:0:255");
}

TEST(pattern_static_quantize, before_a_dequantize_is_a_fake_quantization) {
    pattern_graph_t g;
    const size_t x = g.tensor(t::f32, {4, 6});
    const size_t q = quantize(g, x, t::u8, {0.5f}, {3});
    g.op(dnnl_graph_op_dequantize, {q}, t::f32, {4, 6},
            attributes({0.25f}, {3}));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:f32:1;arg1:f32:0;arg2:s32:0;arg3:s32:0;arg4:f32:0;dst:f32:"
            "1;mul:arg1;add:arg2;clamp:0:255;round:u8;sub:arg3;mul:arg4");
}

TEST(pattern_static_quantize, of_a_value_of_two_consumers_begins_a_chain) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    quantize(g, value, t::s8, {0.5f}, {3});
    g.relu(value);
    const bool is_ours = has(effective_isa(), isa_avx2);
    EXPECT_EQ(g.partitions(),
            (parts_t {"ours: 0", is_ours ? "ours: 1" : "1", "2"}));
}

TEST(pattern_static_quantize, to_floats_of_8_bits_is_left_alone) {
    pattern_graph_t g;
    quantize(g, g.dequantized({4, 6}), t::f8_e5m2, {0.5f}, {0});
    if (g.status() != dnnl_success) return;
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(logs(
            g, {"Quantize \"op1\" (id 1)", "its output is neither u8 nor s8"}));
}

TEST(pattern_static_quantize,
        of_other_channels_than_the_value_s_is_left_alone) {
    pattern_graph_t g;
    quantize(g, g.dequantized({4, 6}), t::u8, floats_t(5, 0.5f), dims_t(5, 3));
    if (g.status() != dnnl_success) return;
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(logs(g,
            {"Quantize \"op1\" (id 1)", "has 5 scales or zps along axis 1"}));
}

} // namespace
} // namespace dnnl_dequant
