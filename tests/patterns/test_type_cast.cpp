// TypeCast in a chain: where a value was stored it is rounded.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

TEST(pattern_type_cast, alone_stays_onednn_s) {
    pattern_graph_t g;
    g.cast(g.tensor(t::f32, {4, 6}), t::bf16);
    EXPECT_EQ(g.partitions(), parts_t {"0"});
}

TEST(pattern_type_cast, rounds_once_each_time_the_type_narrows) {
    pattern_graph_t g;
    const size_t narrow = g.cast(g.dequantized({4, 6}), t::bf16);
    const size_t wide = g.cast(narrow, t::f32);
    g.cast(wide, t::f16);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u8:1;arg1:f32:0;dst:f16:1;mul:arg1;round:bf16");
}

TEST(pattern_type_cast, to_f32_keeps_what_was_rounded) {
    pattern_graph_t g;
    g.cast(g.dequantized({4, 6}, t::bf16), t::f32);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u8:1;arg1:bf16:0;dst:f32:1;mul:arg1;round:bf16");
}

TEST(pattern_type_cast, to_a_quantized_type_is_left_alone) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.op(dnnl_graph_op_type_cast, {value}, t::u8, {4, 6});
    EXPECT_EQ(g.status(), dnnl_invalid_graph_op);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0"});
}

TEST(pattern_type_cast, that_onednn_refuses_leaves_the_rest) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6}, t::bf16);
    g.cast(value, t::f16);
    EXPECT_EQ(g.status(), dnnl_invalid_graph_op);
    g.transpose(g.cast(value, t::f32), {1, 0});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 2 3"});
}

} // namespace
} // namespace dnnl_dequant
