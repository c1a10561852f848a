// Multiply by a tensor that broadcasts.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

constexpr int multiply = dnnl_graph_op_multiply;

std::string problem_with(const dims_t &side) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.binary(multiply, value, g.tensor(t::f32, side));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    return to_string(g.lowered(0).problem);
}

TEST(pattern_multiply, takes_every_broadcast) {
    const std::string steps = ";mul:arg1;mul:arg2";
    EXPECT_EQ(problem_with({1}),
            "24;src:u8:1;arg1:f32:0;arg2:f32:0;dst:f32:1" + steps);
    EXPECT_EQ(problem_with({6}),
            "4x6;src:u8:6:1;arg1:f32:0:0;arg2:f32:0:1;dst:f32:6:1" + steps);
    EXPECT_EQ(problem_with({4, 1}),
            "4x6;src:u8:6:1;arg1:f32:0:0;arg2:f32:1:0;dst:f32:6:1" + steps);
    EXPECT_EQ(problem_with({4, 6}),
            "24;src:u8:1;arg1:f32:0;arg2:f32:1;dst:f32:1" + steps);
}

TEST(pattern_multiply, takes_the_value_as_either_input) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    const size_t side = g.tensor(t::f32, {6});
    g.op(multiply, {side, value}, t::f32, {4, 6});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
}

TEST(pattern_multiply, rounds_where_values_were_stored) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6}, t::bf16);
    g.transpose(g.binary(multiply, value, g.tensor(t::bf16, {6})), {1, 0});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "4x6;src:u8:6:1;arg1:bf16:0:0;arg2:bf16:0:1;dst:bf16:6:1;mul:arg1;"
            "round:bf16;mul:arg2");
}

// The product too, though its sigmoid has the type already.
TEST(pattern_multiply, rounds_a_value_by_its_own_sigmoid) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6}, t::bf16);
    const size_t sigmoid
            = g.op(dnnl_graph_op_sigmoid, {value}, t::bf16, {4, 6});
    const size_t silu = g.binary(multiply, value, sigmoid);
    g.binary(multiply, silu, g.tensor(t::bf16, {1}));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3"});
    EXPECT_NE(to_string(g.lowered(0).problem)
                      .find("round:bf16;pop_mul;round:bf16;mul:arg2"),
            std::string::npos)
            << to_string(g.lowered(0).problem);
}

TEST(pattern_multiply, of_a_value_by_itself_is_left_alone) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.binary(multiply, value, value);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
}

TEST(pattern_multiply, of_two_values_takes_one_in) {
    pattern_graph_t g;
    const size_t a = g.dequantized({4, 6}), b = g.dequantized({4, 6});
    g.binary(multiply, a, b);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 2", "ours: 1"}));
}

TEST(pattern_multiply, by_a_larger_tensor_is_left_alone) {
    pattern_graph_t g;
    const size_t value = g.dequantized({6}), side = g.tensor(t::f32, {4, 6});
    g.op(multiply, {value, side}, t::f32, {4, 6});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(logs(g, {"Multiply \"op1\" (id 1)",
                                "input 1 has shape 4x6; expected at most rank "
                                "1"}));
}

TEST(pattern_multiply, that_broadcasts_the_value_is_left_alone) {
    pattern_graph_t g;
    const size_t value = g.dequantized({1, 6}), side = g.tensor(t::f32, {4, 6});
    g.op(multiply, {value, side}, t::f32, {4, 6});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(logs(g, {"Multiply \"op1\" (id 1)",
                                "input 1 has shape 4x6; expected one that "
                                "broadcasts to 1x6"}));
}

// The neighbouring ops are fused, whoever tells of it.
TEST(pattern_multiply, by_what_does_not_match_leaves_the_rest) {
    for (const dims_t &other : {dims_t {4}, dims_t {4, 5}, dims_t {3, 6}}) {
        pattern_graph_t g;
        const size_t value = g.dequantized({4, 6});
        g.op(multiply, {value, g.tensor(t::f32, other)}, t::f32, {4, 6});
        const bool refused = g.status() != dnnl_success;
        const size_t second = g.dequantized({4, 6});
        g.transpose(second, {1, 0});
        EXPECT_EQ(g.partitions(),
                refused ? parts_t({"ours: 0", "ours: 2 3"})
                        : parts_t({"ours: 0", "1", "ours: 2 3"}));
    }
}

TEST(pattern_multiply, of_unknown_shapes_is_left_alone) {
    pattern_graph_t g(shapes_t::none);
    const size_t value = g.dequantized({4, 6});
    g.binary(multiply, value, g.tensor(t::f32, {6}));
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(
            logs(g, {"Multiply \"op1\" (id 1)", "shapes are not known yet"}));
}

TEST(pattern_multiply, that_may_not_broadcast_does_not) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    const size_t side = g.tensor(t::f32, {1, 6});
    g.op(multiply, {value, side}, t::f32, {4, 6},
            {{dnnl_graph_op_attr_auto_broadcast, std::string("none")}});
    if (g.status() != dnnl_success) return;
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(logs(g, {"Multiply \"op1\" (id 1)", "do not broadcast"}));
}

} // namespace
} // namespace dnnl_dequant
