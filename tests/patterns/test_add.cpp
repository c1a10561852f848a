// Add: of a tensor that broadcasts, or of two dequantized values.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

constexpr int add = dnnl_graph_op_add;

TEST(pattern_add, takes_a_bias_as_either_input) {
    for (const bool value_first : {true, false}) {
        pattern_graph_t g;
        const size_t value = g.dequantized({4, 6});
        const size_t bias = g.tensor(t::f32, {6});
        const ids_t inputs
                = value_first ? ids_t {value, bias} : ids_t {bias, value};
        g.op(add, inputs, t::f32, {4, 6});
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
        EXPECT_EQ(to_string(g.lowered(0).problem),
                "4x6;src:u8:6:1;arg1:f32:0:0;arg2:f32:0:1;dst:f32:6:1;mul:arg1;"
                "add:arg2");
    }
}

TEST(pattern_add, takes_two_values_and_what_follows) {
    pattern_graph_t g;
    const size_t a = g.dequantized({4, 6}, t::bf16);
    const size_t b = g.dequantized({4, 6}, t::bf16);
    g.transpose(g.relu(g.binary(add, a, b)), {1, 0});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3 4"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u8:1;arg1:bf16:0;arg2:u8:1;arg3:bf16:0;dst:bf16:1;mul:"
            "arg1;round:bf16;push:arg2;mul:arg3;round:bf16;pop_add;round:"
            "bf16;clamp:0:inf");
}

TEST(pattern_add, takes_values_that_lie_in_different_orders) {
    pattern_graph_t g;
    const size_t a = g.transpose(g.dequantized({6, 4}), {1, 0});
    g.binary(add, g.dequantized({4, 6}), a);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3"});
}

TEST(pattern_add, takes_a_sum_and_a_value) {
    for (const bool sum_first : {true, false}) {
        pattern_graph_t g;
        const size_t sum
                = g.binary(add, g.dequantized({4, 6}), g.dequantized({4, 6}));
        const size_t value = g.dequantized({4, 6});
        g.binary(add, sum_first ? sum : value, sum_first ? value : sum);
        const parts_t parts = g.partitions();
        ASSERT_EQ(parts.size(), 1u);
        EXPECT_EQ(g.ours(0)->ops.size(), 5u);
    }
}

TEST(pattern_add, of_two_sums_takes_the_first_in) {
    pattern_graph_t g;
    const size_t a
            = g.binary(add, g.dequantized({4, 6}), g.dequantized({4, 6}));
    const size_t b
            = g.binary(add, g.dequantized({4, 6}), g.dequantized({4, 6}));
    g.binary(add, a, b);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 1 2 6", "ours: 3 4 5"}));
}

TEST(pattern_add, of_a_value_and_itself_is_left_alone) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.binary(add, value, value);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
}

TEST(pattern_add, of_groups_that_do_not_go_together_is_not_of_both) {
    pattern_graph_t g;
    const size_t a = g.dequantize_groups(g.tensor(t::u8, {4, 10}), {1, 3});
    const size_t b = g.dequantize_groups(g.tensor(t::u8, {4, 10}), {1, 4});
    g.binary(add, a, b);
    g.partitions();
    EXPECT_TRUE(logs(g, {"Add \"op2\" (id 2)",
                                "groups of 3 and of 4 along one dimension of "
                                "10"}));
    EXPECT_NE(g.ours(0), g.ours(1));
}

TEST(pattern_add, of_values_of_two_shapes_is_not_of_both) {
    pattern_graph_t g;
    const size_t a = g.dequantized({4, 6}), b = g.dequantized({6});
    g.binary(add, a, b);
    g.partitions();
    EXPECT_TRUE(logs(g,
            {"Add \"op2\" (id 2)", "values of different shapes, 4x6 and 6"}));
    EXPECT_NE(g.ours(0), g.ours(1));
}

TEST(pattern_add, of_values_of_unknown_shapes_is_left_alone) {
    pattern_graph_t g(shapes_t::none);
    const size_t a = g.dequantized({4, 6}), b = g.dequantized({4, 6});
    g.binary(add, a, b);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "ours: 1", "2"}));
    EXPECT_TRUE(
            logs(g, {"Add \"op2\" (id 2)",
                            "two values of shapes that are not known yet"}));
}

TEST(pattern_add, of_tensors_that_are_not_dequantized_stays_onednn_s) {
    pattern_graph_t g;
    g.binary(add, g.tensor(t::f32, {4, 6}), g.tensor(t::f32, {4, 6}));
    EXPECT_EQ(g.partitions(), parts_t {"0"});
    EXPECT_FALSE(logs(g, {"Add"}));
}

} // namespace
} // namespace dnnl_dequant
