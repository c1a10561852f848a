// Rules about what becomes one partition, whatever the ops.

#include <gtest/gtest.h>

#include <ctime>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

ids_t ids_of(const std::vector<logical_tensor_t> &ports) {
    ids_t ids;
    for (const auto &port : ports)
        ids.push_back(port.id);
    return ids;
}

TEST(selections, make_a_chain_one_partition) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    const size_t dst = g.transpose(g.cast(value, t::bf16), {1, 0});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
    const partition_t &ours = *g.ours(0);
    EXPECT_EQ(ours.kind, partition_kind_t::chain);
    EXPECT_EQ(ids_of(ours.inputs), (ids_t {0, 1}));
    EXPECT_EQ(ids_of(ours.outputs), ids_t {dst});
    EXPECT_EQ(ours.upstream.size(), 3u);
    EXPECT_EQ(ours.ops.back().kind, dnnl_graph_op_static_transpose);
}

TEST(selections, name_ports_once_in_the_ops_order) {
    pattern_graph_t g;
    const size_t bias = g.tensor(t::f32, {6});
    const size_t value = g.dequantized({4, 6});
    const size_t sum = g.binary(dnnl_graph_op_add, value, bias);
    const size_t scaled
            = g.op(dnnl_graph_op_multiply, {bias, sum}, t::f32, {4, 6});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
    EXPECT_EQ(ids_of(g.ours(0)->inputs), (ids_t {1, 2, bias}));
    EXPECT_EQ(ids_of(g.ours(0)->outputs), ids_t {scaled});
}

TEST(selections, leave_a_value_of_two_consumers_outside) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.relu(value);
    g.cast(value, t::bf16);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1", "2"}));
}

TEST(selections, begin_anew_behind_a_value_of_two_consumers) {
    pattern_graph_t g;
    const size_t value = g.cast(g.dequantized({4, 6}), t::bf16);
    g.transpose(value, {1, 0});
    g.relu(value);
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 1", "2", "3"}));
}

TEST(selections, leave_an_output_of_the_graph_in_mid_chain_outside) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    g.end(value);
    g.cast(value, t::bf16);
    const parts_t parts = g.partitions();
    EXPECT_EQ(parts.front(), "ours: 0");
    EXPECT_EQ(parts.back(), "2");
    EXPECT_EQ(g.ours(2), nullptr);
}

TEST(selections, end_where_the_graph_does) {
    pattern_graph_t g;
    g.end(g.cast(g.dequantized({4, 6}), t::bf16));
    EXPECT_EQ(g.partitions().front(), "ours: 0 1");
}

TEST(selections, are_of_single_ops_under_the_debug_policy) {
    pattern_graph_t g;
    g.transpose(g.cast(g.dequantized({4, 6}), t::bf16), {1, 0});
    EXPECT_EQ(g.partitions(dnnl_graph_partition_policy_debug),
            (parts_t {"ours: 0", "1", "2"}));
    EXPECT_EQ(g.ours(0)->kind, partition_kind_t::dequantize);
}

TEST(selections, end_at_a_wildcard) {
    pattern_graph_t g;
    const size_t value = g.cast(g.dequantized({4, 6}), t::bf16);
    const size_t wild = g.op(dnnl_graph_op_wildcard, {value}, t::bf16, {4, 6});
    g.transpose(g.cast(wild, t::f32), {1, 0});
    const parts_t parts = g.partitions();
    EXPECT_EQ(parts.front(), "ours: 0 1");
    for (const size_t op : {2u, 3u, 4u})
        EXPECT_EQ(g.ours(op), nullptr);
}

TEST(selections, begin_behind_a_wildcard) {
    pattern_graph_t g;
    const size_t wild = g.op(
            dnnl_graph_op_wildcard, {g.tensor(t::u8, {4, 6})}, t::u8, {4, 6});
    const size_t scale = g.tensor(t::f32, {1});
    g.cast(g.op(dnnl_graph_op_dynamic_dequantize, {wild, scale}, t::f32,
                   {4, 6}),
            t::f16);
    EXPECT_EQ(g.partitions(), (parts_t {"0", "ours: 1 2"}));
}

TEST(selections, stand_where_the_last_of_their_ops_stood) {
    pattern_graph_t g;
    const size_t value = g.dequantized({4, 6});
    const size_t side = g.op(
            dnnl_graph_op_wildcard, {g.tensor(t::f32, {4, 6})}, t::f32, {4, 6});
    g.binary(dnnl_graph_op_add, value, side);
    g.partitions();
    EXPECT_EQ(g.in_order(), (parts_t {"1", "ours: 0 2"}));
}

TEST(selections, are_as_many_as_there_are_chains) {
    pattern_graph_t g;
    const size_t a = g.cast(g.dequantized({4, 6}), t::bf16);
    const size_t b = g.transpose(g.dequantized({6, 4}, t::bf16), {1, 0});
    g.op(dnnl_graph_op_subtract, {a, b}, t::bf16, {4, 6});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 1", "ours: 2 3", "4"}));
}

TEST(selections, take_no_part_of_a_partition_of_onednn_s) {
    // oneDNN fuses ReLU and Add; to us the sum's other side is too large.
    pattern_graph_t g;
    const size_t value = g.relu(g.dequantized({6}));
    const size_t side = g.tensor(t::f32, {4, 6});
    g.op(dnnl_graph_op_add, {value, side}, t::f32, {4, 6});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1 2"}));
    EXPECT_TRUE(logs(g, {"ReLU \"op1\" (id 1)",
                                "its chain is a part only of a partition of "
                                "oneDNN's"}));
}

TEST(selections, begin_behind_a_partition_of_onednn_s) {
    for (const bool dequantizes : {false, true}) {
        pattern_graph_t g;
        const size_t product = g.op(dnnl_graph_op_matmul,
                {g.tensor(t::f32, {4, 8}), g.tensor(t::f32, {8, 6})}, t::f32,
                {4, 6});
        const size_t scale = g.tensor(t::f32, {1});
        const size_t quantized = g.op(dnnl_dequant_op_QuantizeLinear,
                {g.relu(product), scale}, t::s8, {4, 6});
        if (dequantizes)
            g.op(dnnl_graph_op_dynamic_dequantize, {quantized, scale}, t::f32,
                    {4, 6});
        EXPECT_EQ(g.partitions(),
                (parts_t {"0 1", dequantizes ? "ours: 2 3" : "ours: 2"}));
    }
}

TEST(selections, take_a_partition_of_onednn_s_whole) {
    pattern_graph_t g;
    const size_t value = g.relu(g.dequantized({4, 6}));
    g.binary(dnnl_graph_op_add, value, g.tensor(t::f32, {4, 6}));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
    EXPECT_EQ(g.ours(0)->upstream.size(), 2u);
}

TEST(selections, are_no_longer_than_a_limit) {
    pattern_graph_t g;
    size_t value = g.dequantized({4, 6});
    for (int n = 0; n < 20; ++n)
        value = g.transpose(value, {1, 0});
    const parts_t parts = g.partitions();
    ASSERT_EQ(parts.size(), 9u);
    EXPECT_EQ(parts[0], "ours: 0 1 2 3 4 5 6 7 8 9 10 11 12");
    EXPECT_EQ(parts[1], "13");
}

TEST(selections, hold_as_many_tensors_as_a_kernel_takes) {
    pattern_graph_t g;
    size_t value = g.dequantized({4, 6});
    for (int n = 0; n < 12; ++n)
        value = g.binary(dnnl_graph_op_multiply, value, g.tensor(t::f32, {6}));
    g.partitions();
    EXPECT_TRUE(logs(g,
            {"Multiply \"op11\" (id 11)", "too many tensors for one kernel"}));
    ASSERT_NE(g.ours(10), nullptr);
    EXPECT_EQ(g.ours(10), g.ours(0));
    EXPECT_EQ(g.ours(11), nullptr);
}

TEST(selections, of_unknown_shapes_hold_what_needs_none) {
    pattern_graph_t g(shapes_t::none);
    const size_t value = g.relu(g.cast(g.dequantized({4, 6}), t::bf16));
    const size_t moved = g.reorder(g.transpose(value, {1, 0}));
    g.reshape(moved, {24});
    const parts_t parts = g.partitions();
    EXPECT_EQ(parts.front(), "ours: 0 1 2 3 4");
    EXPECT_TRUE(logs(
            g, {"StaticReshape \"op5\" (id 5)", "shapes are not known yet"}));
    EXPECT_EQ(g.lowered(0).outputs[0].ndims, 2);
}

// The last op's inputs are looked at from every op that may end a chain.
TEST(selections, of_a_thousand_sums_take_no_time) {
    for (const bool chain_is_second : {false, true}) {
        pattern_graph_t g;
        size_t value = g.dequantized({4, 6});
        for (int n = 0; n < 1000; ++n) {
            const size_t side = g.tensor(t::f32, {4, 6});
            value = chain_is_second ? g.binary(dnnl_graph_op_add, side, value)
                                    : g.binary(dnnl_graph_op_add, value, side);
        }
        // CPU time, which other work on the machine does not lengthen.
        const std::clock_t start = std::clock();
        g.partitions();
        EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 10);
    }
}

} // namespace
} // namespace dnnl_dequant
