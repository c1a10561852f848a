// DynamicQuantizeLinear's function body in oneDNN's ops: one partition, and
// what keeps a graph from being one.

#include <gtest/gtest.h>

#include <limits>

#include "dnnl_dequant/dnnl_dequant.h"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

constexpr float infinity = std::numeric_limits<float>::infinity();

// The body over a 4x6 x, its ops with ids from 0 on in the order of making. A
// test changes a member to get another graph.
struct body_t {
    dims_t axes {0, 1}, max_axes {0, 1};
    bool keep_dims = true, by_attributes = false;
    float upper = 255.f; // of the zero point
    int rounding = dnnl_graph_op_round, bounds_below = dnnl_graph_op_relu;
    std::vector<float> cast_scales {1.f};
    dims_t scalar {1};
    t type = t::f32;
    bool origin_from_op = false;

    size_t x, low, high, least, most, range, scale, quotient, rounded, cast;

    attributes_t reduction(const dims_t &over) const {
        return {{dnnl_graph_op_attr_axes, over},
                {dnnl_graph_op_attr_keep_dims,
                        std::vector<uint8_t> {keep_dims}}};
    }
    size_t scalar_op(pattern_graph_t &g, int kind, const ids_t &inputs) const {
        return g.op(kind, inputs, type, {1, 1});
    }

    void add_parameters(pattern_graph_t &g) {
        x = g.tensor(type, {4, 6});
        const size_t zero = g.tensor(type, scalar);
        const size_t levels = g.tensor(type, {1});
        const dims_t reduced = keep_dims ? dims_t {1, 1} : dims_t {};
        low = g.op(
                dnnl_graph_op_reduce_min, {x}, type, reduced, reduction(axes));
        high = g.op(dnnl_graph_op_reduce_max, {x}, type, reduced,
                reduction(max_axes));
        least = by_attributes
                        ? g.clamp(low, -infinity, 0.f)
                        : scalar_op(g, dnnl_graph_op_minimum, {zero, low});
        most = by_attributes
                       ? scalar_op(g, bounds_below, {high})
                       : scalar_op(g, dnnl_graph_op_maximum, {high, zero});
        range = scalar_op(g, dnnl_graph_op_subtract, {most, least});
        scale = scalar_op(g, dnnl_graph_op_divide, {range, levels});
        quotient = scalar_op(g, dnnl_graph_op_divide, {least, scale});
        const size_t origin = origin_from_op ? g.relu(zero) : zero;
        const size_t zp = g.clamp(
                scalar_op(g, dnnl_graph_op_subtract, {origin, quotient}), 0.f,
                upper);
        rounded = scalar_op(g, rounding, {zp});
    }
    void add_cast(pattern_graph_t &g) {
        cast = g.op(dnnl_graph_op_quantize, {rounded}, t::u8, {1, 1},
                {{dnnl_graph_op_attr_scales, cast_scales},
                        {dnnl_graph_op_attr_zps, dims_t {0}}});
    }
    size_t add_quantize(
            pattern_graph_t &g, int kind = dnnl_graph_op_dynamic_quantize) {
        add_cast(g);
        return g.op(kind, {x, scale, cast}, t::u8, {4, 6});
    }
    size_t add_ops(pattern_graph_t &g) {
        const size_t quotients
                = g.op(dnnl_graph_op_divide, {x, scale}, type, {4, 6});
        const size_t rounds
                = g.op(dnnl_graph_op_round, {quotients}, type, {4, 6});
        const size_t sum
                = g.op(dnnl_graph_op_add, {rounded, rounds}, type, {4, 6});
        return g.clamp(sum, 0.f, 255.f);
    }
};

std::string first_ops(int count) {
    std::string text = "ours:";
    for (int op = 0; op < count; ++op)
        text += " " + std::to_string(op);
    return text;
}

// --- is one partition

TEST(pattern_quantize_body, ends_in_a_quantize) {
    for (const int kind : {int(dnnl_graph_op_dynamic_quantize),
                 int(dnnl_dequant_op_QuantizeLinear)})
        for (const bool keep_dims : {false, true})
            for (const bool by_attributes : {false, true}) {
                pattern_graph_t g;
                body_t body;
                body.keep_dims = keep_dims;
                body.by_attributes = by_attributes;
                body.add_parameters(g);
                body.add_quantize(g, kind);
                EXPECT_EQ(g.partitions(), parts_t {first_ops(12)});
                EXPECT_EQ(g.ours(0)->outputs.size(), 1u);
            }
}

TEST(pattern_quantize_body, ends_in_ops) {
    for (const bool casts : {false, true}) {
        pattern_graph_t g;
        body_t body;
        body.add_parameters(g);
        const size_t y = body.add_ops(g);
        if (casts)
            g.op(dnnl_graph_op_quantize, {y}, t::u8, {4, 6},
                    {{dnnl_graph_op_attr_scales, std::vector<float> {1.f}}});
        EXPECT_EQ(g.partitions(), parts_t {first_ops(casts ? 15 : 14)});
        EXPECT_EQ(to_string(g.lowered(0).problem),
                std::string("24;src:f32:1;arg1:f32:0;arg2:f32:0;dst:")
                        + (casts ? "u8" : "f32")
                        + ":1;div:arg1;nearest;add:arg2;clamp:0:255");
    }
}

// They are outputs, and the partition stands where it can give them.
TEST(pattern_quantize_body, gives_its_parameters_to_others) {
    pattern_graph_t g;
    body_t body;
    body.add_parameters(g);
    const size_t user = g.relu(body.scale);
    const size_t y = body.add_quantize(g);
    g.end(body.rounded);
    g.end(body.cast);
    g.end(y);
    (void)user;
    g.partitions();
    const partition_t *ours = g.ours(0);
    ASSERT_NE(ours, nullptr);
    EXPECT_EQ(ours->ops.size(), 12u);
    EXPECT_EQ(ours->outputs.size(), 4u);
    EXPECT_EQ(g.in_order().front().substr(0, 5), "ours:");
}

// --- is none

// The reductions alone are never ours.
void expect_none(pattern_graph_t &g) {
    g.partitions();
    EXPECT_EQ(g.ours(0), nullptr);
}

TEST(pattern_quantize_body, keeps_values_that_others_use) {
    for (const auto value : {&body_t::low, &body_t::least, &body_t::most,
                 &body_t::range, &body_t::quotient}) {
        pattern_graph_t g;
        body_t body;
        body.add_parameters(g);
        body.add_quantize(g);
        g.end(body.*value);
        expect_none(g);
        EXPECT_TRUE(logs(g,
                {"DynamicQuantize", "spelled out, but others use the value"}));
    }
}

void expect_none_with(const body_t &like) {
    pattern_graph_t g;
    body_t body = like;
    body.add_parameters(g);
    body.add_quantize(g);
    expect_none(g);
}

TEST(pattern_quantize_body, is_not_one_with_other_bounds_or_rounding) {
    body_t body;
    body.upper = 254.f;
    expect_none_with(body);
    body = body_t();
    body.rounding = dnnl_graph_op_abs;
    expect_none_with(body);
    body = body_t();
    body.cast_scales = {2.f};
    expect_none_with(body);
    body = body_t();
    body.by_attributes = true;
    body.bounds_below = dnnl_graph_op_sigmoid;
    expect_none_with(body);
}

TEST(pattern_quantize_body, is_not_one_of_a_part_of_x) {
    body_t body;
    body.axes = {1};
    expect_none_with(body);
    body = body_t();
    body.max_axes = {0};
    expect_none_with(body);
}

TEST(pattern_quantize_body, is_not_one_of_constants_that_are_no_scalars) {
    body_t body;
    body.scalar = {6};
    expect_none_with(body);
    body = body_t();
    body.origin_from_op = true;
    expect_none_with(body);
    body = body_t();
    body.scalar = {1, 1, 1}; // y would have three dimensions
    expect_none_with(body);
}

TEST(pattern_quantize_body, is_not_one_where_another_scale_divides) {
    pattern_graph_t g;
    body_t body;
    body.add_parameters(g);
    body.scale = g.tensor(t::f32, {1, 1});
    body.add_ops(g);
    expect_none(g);
}

TEST(pattern_quantize_body, is_not_one_under_the_debug_policy) {
    pattern_graph_t g;
    body_t body;
    body.add_parameters(g);
    body.add_quantize(g);
    g.partitions(dnnl_graph_partition_policy_debug);
    EXPECT_EQ(g.ours(0), nullptr);
}

TEST(pattern_quantize_body, is_not_one_in_bf16) {
    pattern_graph_t g;
    body_t body;
    body.type = t::bf16;
    body.add_parameters(g);
    body.add_ops(g);
    expect_none(g);
    EXPECT_TRUE(logs(g, {"the range of its source is not computed in f32"}));
}

} // namespace
} // namespace dnnl_dequant
