// ReLU and Clamp.

#include <gtest/gtest.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/logical_tensor.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

TEST(pattern_activation, relu_bounds_below) {
    pattern_graph_t g;
    g.relu(g.dequantized({4, 6}));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u8:1;arg1:f32:0;dst:f32:1;mul:arg1;clamp:0:inf");
}

TEST(pattern_activation, clamp_bounds_both_ways_and_rounds) {
    pattern_graph_t g;
    g.cast(g.clamp(g.dequantized({4, 6}, t::bf16), 0.1f, 6), t::f32);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
    EXPECT_EQ(to_string(g.lowered(0).problem),
            "24;src:u8:1;arg1:bf16:0;dst:f32:1;mul:arg1;round:bf16;clamp:0."
            "100000001:6;round:bf16");
}

TEST(pattern_activation, clamp_whose_bounds_cross_stays_onednn_s) {
    pattern_graph_t g;
    g.clamp(g.dequantized({4, 6}), 6, -6);
    if (g.status() != dnnl_success) return;
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    EXPECT_TRUE(logs(
            g, {"Clamp \"op1\" (id 1)", "min is 6.000000 and max -6.000000"}));
}

TEST(pattern_activation, of_a_tensor_stays_onednn_s) {
    pattern_graph_t g;
    g.relu(g.tensor(t::f32, {4, 6}));
    g.clamp(g.tensor(t::f32, {4, 6}), 0, 6);
    EXPECT_EQ(g.partitions(), (parts_t {"0", "1"}));
}

TEST(pattern_activation, of_a_type_that_oneDNN_does_not_run_here_does_no_harm) {
    pattern_graph_t g;
    g.relu(g.tensor(t::f16, {4, 6}));
    EXPECT_EQ(g.partitions(), parts_t {"0"});
}

} // namespace
} // namespace dnnl_dequant
