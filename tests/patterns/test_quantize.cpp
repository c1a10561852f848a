// Quantize ops behind a value, and what follows them.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"
#include "upstream/mapping.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

// 4x6, per tensor, with a zero point.
size_t quantize(pattern_graph_t &g, int kind, size_t value, t dst) {
    const size_t s = g.tensor(t::f32, {1}), z = g.tensor(dst, {1});
    return g.op(kind, {value, s, z}, dst, {4, 6});
}

TEST(pattern_quantize, of_every_kind_ends_a_chain) {
    const int kinds[] = {dnnl_dequant_op_QuantizeLinear,
            dnnl_dequant_op_ExtendedQuantizeLinear};
    for (const int kind : kinds) {
        pattern_graph_t g;
        quantize(g, kind, g.dequantized({4, 6}), t::s8);
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"}) << kind;
        EXPECT_EQ(to_string(g.lowered(0).problem),
                "24;src:u8:1;arg1:f32:0;arg2:f32:0;arg3:s8:0;dst:s8:1;mul:"
                "arg1;div:arg2;offset:arg3");
    }
}

TEST(pattern_quantize, of_onednn_s_computes_as_onednn) {
    pattern_graph_t g;
    quantize(g, dnnl_graph_op_dynamic_quantize, g.dequantized({4, 6}), t::s8);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u8:1;arg1:f32:0;arg2:f32:0;arg3:s8:0;dst:s8:1;mul:arg1;"
            "mul_rcp:arg2;add:arg3;clamp:-128:127");
}

TEST(pattern_quantize, of_onednn_s_alone_computes_as_onednn) {
    pattern_graph_t g;
    quantize(
            g, dnnl_graph_op_dynamic_quantize, g.tensor(t::f32, {4, 6}), t::u8);
    if (!has(effective_isa(), isa_avx2)) GTEST_SKIP() << "oneDNN's is faster";
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:f32:1;arg1:f32:0;arg2:u8:0;dst:u8:1;mul_rcp:arg1;add:arg2;"
            "clamp:0:255");
}

TEST(pattern_quantize, alone_is_ours_where_onednn_has_none) {
    pattern_graph_t g;
    quantize(g, dnnl_graph_op_dynamic_quantize, g.tensor(t::bf16, {4, 6}),
            t::s4);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
    EXPECT_EQ(g.ours(0)->kind, partition_kind_t::quantize);
}

TEST(pattern_quantize, before_a_dequantize_rounds_there) {
    pattern_graph_t g;
    const size_t x = g.tensor(t::f32, {4, 6});
    const size_t q = quantize(g, dnnl_dequant_op_QuantizeLinear, x, t::u8);
    const size_t s = g.tensor(t::f32, {1});
    g.op(dnnl_graph_op_dynamic_dequantize, {q, s}, t::f32, {4, 6});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:f32:1;arg1:f32:0;arg2:u8:0;arg3:f32:0;dst:f32:1;div:arg1;"
            "offset:arg2;round:u8;mul:arg3");
}

TEST(pattern_quantize, of_floats_of_8_bits_saturates_unless_told_not_to) {
    for (const bool saturate : {true, false}) {
        pattern_graph_t g;
        const size_t value = g.dequantized({4, 6});
        g.op(dnnl_dequant_op_QuantizeLinear,
                {value, g.tensor(t::f32, {1}), g.tensor(t::f8_e5m2, {1})},
                t::f8_e5m2, {4, 6},
                {{dnnl_dequant_attr_saturate,
                        std::vector<uint8_t> {
                                saturate ? uint8_t {1} : uint8_t {0}}}});
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
        const auto lowered = g.lowered(0);
        EXPECT_EQ(to_string(lowered.problem),
                std::string("24;src:u8:1;arg1:f32:0;arg2:f32:0;arg3:f8_e5m2:0;"
                            "dst:f8_e5m2:1;mul:arg1;div:arg2;add:arg3")
                        + (saturate ? ";saturate:-57344:57344" : ""));
        EXPECT_EQ(lowered.must_be_zero.size(), 1u);
    }
}

TEST(pattern_quantize, of_groups_that_do_not_go_together_begins_anew) {
    pattern_graph_t g;
    const size_t value = g.dequantize_groups(g.tensor(t::u8, {4, 10}), {1, 3});
    g.op(dnnl_graph_op_dynamic_quantize, {value, g.tensor(t::f32, {4, 3})},
            t::u4, {4, 10},
            {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                    {dnnl_graph_op_attr_group_shape, dims_t {1, 4}}});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "ours: 1"}));
    EXPECT_TRUE(logs(g, {"groups of 3 and of 4 along one dimension of 10"}));
}

TEST(pattern_quantize, of_scales_that_do_not_fit_is_not_fused) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    const size_t s = g.tensor(t::f32, {5}), z = g.tensor(t::u8, {5});
    g.op(dnnl_dequant_op_QuantizeLinear, {value, s, z}, t::u8, {4, 6});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "ours: 1"}));
    EXPECT_TRUE(logs(g, {"QuantizeLinear \"op1\" (id 1)", "has shape 5"}));
    EXPECT_THROW(g.lowered(1), std::runtime_error);
}

TEST(pattern_quantize, to_a_type_that_its_zero_points_are_not_is_refused) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    const size_t s = g.tensor(t::f32, {1}), z = g.tensor(t::s16, {1});
    g.op(dnnl_dequant_op_QuantizeLinear, {value, s, z}, t::u8, {4, 6});
    EXPECT_EQ(g.status(), dnnl_invalid_graph_op);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
}

} // namespace
} // namespace dnnl_dequant
