// patterns/matmul.cpp

#include <gtest/gtest.h>

#include <algorithm>

#include <array>
#include <stdexcept>

#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

size_t matmul(pattern_graph_t &g, const std::vector<size_t> &inputs,
        const dims_t &shape, bool transpose_b = false) {
    return g.op(dnnl_graph_op_matmul, inputs, t::f32, shape,
            {{dnnl_graph_op_attr_transpose_b,
                    std::vector<uint8_t> {uint8_t(transpose_b)}}});
}

TEST(matmul, takes_its_weights_and_what_follows) {
    pattern_graph_t g;
    const size_t weights = g.dequantized({6, 4});
    const size_t product
            = matmul(g, {g.tensor(t::f32, {3, 6}), weights}, {3, 4});
    g.relu(g.binary(dnnl_graph_op_add, product, g.tensor(t::f32, {4})));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3"});
}

TEST(matmul, takes_both_factors) {
    pattern_graph_t g;
    const size_t src = g.dequantized({3, 6}), weights = g.dequantized({4, 6});
    matmul(g, {src, weights}, {3, 4}, true);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
}

// oneDNN infers the shapes of what lies between.
TEST(matmul, takes_a_src_whose_shape_follows_from_others) {
    pattern_graph_t g(shapes_t::of_inputs);
    const size_t src = g.tensor(t::f32, {2, 3, 6});
    const size_t first = matmul(g, {src, g.dequantized({6, 4})}, {2, 3, 4});
    const size_t normal = g.op(dnnl_graph_op_softmax, {first}, t::f32,
            {2, 3, 4}, {{dnnl_graph_op_attr_axis, dims_t {-1}}});
    const size_t moved = g.transpose(normal, {1, 0, 2});
    const size_t flat = g.reshape(moved, {6, 4});
    const size_t side
            = g.binary(dnnl_graph_op_add, flat, g.tensor(t::f32, {1, 4}));
    const size_t second
            = matmul(g, {side, g.dequantized({8, 4})}, {6, 8}, true);
    g.binary(dnnl_graph_op_multiply, second, g.tensor(t::f32, {6, 1}));
    g.partitions();
    ASSERT_NE(g.ours(1), nullptr);
    ASSERT_NE(g.ours(8), nullptr);
    EXPECT_EQ(g.ours(8), g.ours(7));
    const lowered_t lowered = g.lowered(8);
    EXPECT_EQ(lowered.outputs[0].dims[1], 8);
}

// Its scale and zero point have shapes that follow, too.
TEST(matmul, takes_a_src_that_an_op_quantizes_by_what_it_finds) {
    const dims_t rows {1, 6}, blocks {2, 3};
    const std::vector<attributes_t> granularities {{},
            {{dnnl_graph_op_attr_qtype, std::string("per_channel")},
                    {dnnl_graph_op_attr_axis, dims_t {-2}}},
            {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                    {dnnl_graph_op_attr_group_shape, rows}},
            {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                    {dnnl_graph_op_attr_group_shape, blocks}}};
    for (const attributes_t &how : granularities) {
        pattern_graph_t g(shapes_t::of_inputs);
        const size_t y = g.dynamic_quantized(g.tensor(t::f32, {4, 6}), how);
        const size_t src = g.op(dnnl_graph_op_dynamic_dequantize,
                {y, y + 1, y + 2}, t::f32, {4, 6}, how);
        matmul(g, {src, g.dequantized({6, 8})}, {4, 8});
        EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "ours: 1 2 3"}));
    }
}

TEST(matmul, leaves_a_src_whose_shape_follows_from_nothing) {
    pattern_graph_t g(shapes_t::none);
    const size_t src = g.relu(g.tensor(t::f32, {3, 6}));
    matmul(g, {src, g.dequantized({6, 4})}, {3, 4});
    EXPECT_EQ(g.partitions(), (parts_t {"0", "ours: 1", "2"}));
    EXPECT_TRUE(logs(g, {"MatMul \"op2\"", "is not known yet"}));
}

TEST(matmul, leaves_a_product_of_plain_tensors) {
    pattern_graph_t g;
    matmul(g, {g.tensor(t::f32, {3, 6}), g.tensor(t::f32, {6, 4})}, {3, 4});
    EXPECT_EQ(g.partitions(), parts_t {"0"});
}

TEST(matmul, leaves_weights_of_two_products_alone) {
    pattern_graph_t g;
    const size_t weights = g.dequantized({6, 4});
    matmul(g, {g.tensor(t::f32, {3, 6}), weights}, {3, 4});
    matmul(g, {g.tensor(t::f32, {2, 6}), weights}, {2, 4});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1", "2"}));
}

TEST(matmul, may_be_what_is_moved) {
    pattern_graph_t g;
    const size_t product = matmul(
            g, {g.tensor(t::f32, {4, 6}), g.dequantized({6, 6})}, {4, 6});
    const size_t heads = g.transpose(g.reshape(product, {4, 3, 2}), {1, 0, 2});
    g.binary(dnnl_graph_op_add, heads, g.tensor(t::f32, {3, 1, 2}));
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3 4"});
}

TEST(matmul, is_not_moved_where_its_blocks_would_be_torn) {
    pattern_graph_t g;
    const size_t product = matmul(
            g, {g.tensor(t::f32, {4, 6}), g.dequantized({6, 9})}, {4, 9});
    g.reshape(product, {6, 6});
    EXPECT_EQ(g.partitions()[0], "ours: 0 1");
    EXPECT_TRUE(logs(g, {"StaticReshape", "have no common cut"}));
}

// Threads store blocks of a product, and two nibbles share a byte.
TEST(matmul, is_not_stored_in_nibbles) {
    for (const t dst : {t::u8, t::u4}) {
        pattern_graph_t g;
        const size_t product = matmul(
                g, {g.tensor(t::f32, {4, 6}), g.dequantized({6, 8})}, {4, 8});
        g.op(dnnl_graph_op_dynamic_quantize,
                {product, g.tensor(t::f32, {1}), g.tensor(dst, {1})}, dst,
                {4, 8});
        const parts_t parts = g.partitions();
        const bool is_one = parts == parts_t {"ours: 0 1 2"};
        EXPECT_EQ(is_one, dst == t::u8) << ::testing::PrintToString(parts);
        EXPECT_EQ(logs(g, {"elements that share a byte"}), dst == t::u4);
    }
}

TEST(matmul, takes_functions_behind_it) {
    for (const int kind : {dnnl_graph_op_abs, dnnl_graph_op_exp,
                 dnnl_graph_op_gelu, dnnl_graph_op_hard_swish,
                 dnnl_graph_op_sigmoid, dnnl_graph_op_sqrt,
                 dnnl_graph_op_square, dnnl_graph_op_tanh}) {
        pattern_graph_t g;
        const size_t product = matmul(
                g, {g.tensor(t::f32, {3, 6}), g.dequantized({6, 4})}, {3, 4});
        const size_t biased
                = g.binary(dnnl_graph_op_add, product, g.tensor(t::f32, {4}));
        g.op(kind, {biased}, t::f32, {3, 4});
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3"}) << kind;
    }
}

// A value by its own sigmoid, whichever way round; and by a tensor then.
TEST(matmul, takes_silu_behind_it) {
    for (const bool reversed : {false, true}) {
        pattern_graph_t g;
        const size_t gate = matmul(
                g, {g.tensor(t::f32, {3, 6}), g.dequantized({6, 4})}, {3, 4});
        const size_t sigmoid
                = g.op(dnnl_graph_op_sigmoid, {gate}, t::f32, {3, 4});
        const size_t silu
                = reversed ? g.binary(dnnl_graph_op_multiply, sigmoid, gate)
                           : g.binary(dnnl_graph_op_multiply, gate, sigmoid);
        g.binary(dnnl_graph_op_multiply, silu, g.tensor(t::f32, {3, 4}));
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2 3 4"});
    }
}

// The product is wanted as well as its SiLU.
TEST(matmul, keeps_a_value_that_others_use) {
    pattern_graph_t g;
    const size_t gate = matmul(
            g, {g.tensor(t::f32, {3, 6}), g.dequantized({6, 4})}, {3, 4});
    const size_t sigmoid = g.op(dnnl_graph_op_sigmoid, {gate}, t::f32, {3, 4});
    g.binary(dnnl_graph_op_multiply, gate, sigmoid);
    g.relu(gate);
    EXPECT_EQ(g.partitions()[0], "ours: 0 1");
}

TEST(matmul, broadcasts_either_batch) {
    for (const auto &shapes : std::vector<std::array<dims_t, 3>> {
                 {{{2, 3, 6}, {6, 4}, {2, 3, 4}}},
                 {{{3, 6}, {2, 6, 4}, {2, 3, 4}}},
                 {{{1, 3, 6}, {2, 6, 4}, {2, 3, 4}}},
                 {{{5, 1, 3, 6}, {2, 6, 4}, {5, 2, 3, 4}}}}) {
        pattern_graph_t g;
        matmul(g, {g.tensor(t::f32, shapes[0]), g.dequantized(shapes[1])},
                shapes[2]);
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    }
}

// Returns the log of compiling `op`, with the reasons, and the kernel that
// runs.
std::string log_of_lowering(
        const pattern_graph_t &g, size_t op, std::string &kernel) {
    ::testing::internal::CaptureStdout();
    kernel = g.lowered(op).implementation.name;
    return ::testing::internal::GetCapturedStdout();
}

TEST(matmul, tells_of_weights_that_no_kernel_streams) {
    pattern_graph_t g;
    const size_t src = g.tensor(t::u4, {128, 64});
    g.set_strides(src, {2, 256});
    matmul(g, {g.tensor(t::f32, {1, 64}), g.dequantize_groups(src, {1, 32})},
            {1, 128}, true);
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    std::string kernel;
    const std::string log = log_of_lowering(g, 0, kernel);
    EXPECT_EQ(kernel, "ref_matmul");
    EXPECT_NE(log.find("skinny_gemm"), std::string::npos) << log;
    EXPECT_NE(log.find("side by side"), std::string::npos) << log;
}

TEST(matmul, multiplies_integers_where_the_graph_has_them) {
    for (const dim_t rows : {3, 0}) {
        pattern_graph_t g;
        matmul(g,
                {g.dequantized({rows, 64}),
                        g.dequantize_groups(g.tensor(t::u4, {64, 8}), {32, 1})},
                {rows, 8});
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
        std::string kernel;
        log_of_lowering(g, 0, kernel);
        // With no rows there is no way to choose.
        EXPECT_EQ(kernel, rows > 0 ? "ref_integer_matmul" : "ref_matmul");
    }
}

TEST(matmul, tells_why_it_does_not_multiply_integers) {
    const struct {
        t type, zps;
        dim_t group;
        const char *reason;
    } cases[] = {{t::f32, t::undef, 8,
                         "integer_matmul: a depth of 64 has 8 groups; "
                         "expected 5 at most,"},
            {t::bf16, t::undef, 32,
                    "integer_matmul: src takes the step round; expected zero "
                    "points and scales alone,"},
            {t::f32, t::s32, 32,
                    "integer_matmul: zero points of src are of type s32; "
                    "expected integers of 8 bits at most,"}};
    for (const auto &c : cases) {
        pattern_graph_t g;
        const auto dequantized
                = [&](t src, const dims_t &dims, const dims_t &groups) {
            const dims_t counts {dims[0] / groups[0], dims[1] / groups[1]};
            std::vector<size_t> inputs {
                    g.tensor(src, dims), g.tensor(c.type, counts)};
            if (c.zps != t::undef) inputs.push_back(g.tensor(c.zps, counts));
            return g.op(dnnl_graph_op_dynamic_dequantize, inputs, c.type, dims,
                    {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                            {dnnl_graph_op_attr_group_shape, groups}});
        };
        const size_t src = dequantized(t::u8, {3, 64}, {1, 64});
        const size_t weights = dequantized(t::s8, {64, 8}, {c.group, 1});
        g.op(dnnl_graph_op_matmul, {src, weights}, c.type, {3, 8});
        EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1 2"});
        std::string kernel;
        const std::string log = log_of_lowering(g, 0, kernel);
        EXPECT_EQ(kernel, "ref_matmul");
        EXPECT_NE(log.find(c.reason), std::string::npos) << log;
    }
}

TEST(matmul, tells_of_zps_of_a_wrong_shape) {
    pattern_graph_t g;
    const size_t weights = g.op(dnnl_graph_op_dynamic_dequantize,
            {g.tensor(t::u4, {64, 8}), g.tensor(t::f32, {2, 8}),
                    g.tensor(t::u4, {4, 8})},
            t::f32, {64, 8},
            {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                    {dnnl_graph_op_attr_group_shape, dims_t {32, 1}}});
    matmul(g, {g.tensor(t::f32, {3, 64}), weights}, {3, 8});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0", "1"}));
    std::string reason;
    try {
        g.lowered(0);
    } catch (const std::runtime_error &error) {
        reason = error.what();
    }
    EXPECT_NE(reason.find("has shape 4x8; expected 2x8"), std::string::npos)
            << reason;
}

TEST(matmul, takes_a_short_last_group) {
    pattern_graph_t g;
    const size_t weights = g.op(dnnl_graph_op_dynamic_dequantize,
            {g.tensor(t::u4, {50, 8}), g.tensor(t::f32, {2, 8})}, t::f32,
            {50, 8},
            {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                    {dnnl_graph_op_attr_group_shape, dims_t {32, 1}}});
    matmul(g, {g.tensor(t::f32, {3, 50}), weights}, {3, 8});
    EXPECT_EQ(g.partitions(), parts_t {"ours: 0 1"});
}

// oneDNN multiplies integers there; what follows is no reason to take it.
TEST(matmul, leaves_a_product_of_integers) {
    pattern_graph_t g;
    const auto dequantized = [&](t type, const dims_t &dims) {
        return g.op(dnnl_graph_op_dequantize, {g.tensor(type, dims)}, t::f32,
                dims,
                {{dnnl_graph_op_attr_scales, std::vector<float> {0.5f}},
                        {dnnl_graph_op_attr_zps, dims_t {0}},
                        {dnnl_graph_op_attr_qtype, std::string("per_tensor")},
                        {dnnl_graph_op_attr_axis, dims_t {1}}});
    };
    const size_t src = dequantized(t::u8, {3, 8});
    const size_t product = matmul(g, {src, dequantized(t::s8, {8, 6})}, {3, 6});
    g.clamp(g.cast(product, t::bf16), 0, 1);
    const parts_t parts = g.partitions();
    EXPECT_EQ(parts[0].find("ours"), std::string::npos) << parts[0];
    EXPECT_EQ(parts[0].find("0 1 2"), 0u) << parts[0];
}

// A gated MLP, which is one partition of oneDNN's.
// The parts of a compound in their order, "matmul: 0 1".
parts_t parts_of(const partition_t &compound) {
    parts_t parts;
    for (const auto &part : compound.parts) {
        ids_t ops;
        for (const op_record_t &op : part->ops)
            ops.push_back(op.id);
        std::sort(ops.begin(), ops.end());
        std::string text = std::string(to_string(part->kind)) + ":";
        for (const size_t op : ops)
            text += " " + std::to_string(op);
        parts.push_back(text);
        EXPECT_EQ(part->id, compound.id);
    }
    return parts;
}

TEST(matmul, takes_its_parts_of_a_partition_of_onednn_s) {
    pattern_graph_t g;
    const auto weights = [&](const dims_t &dims) {
        const size_t src = g.tensor(t::u4, dims);
        const size_t scales = g.tensor(t::f32, {dims[0] / 2, dims[1]});
        return g.op(dnnl_graph_op_dynamic_dequantize, {src, scales}, t::f32,
                dims,
                {{dnnl_graph_op_attr_qtype, std::string("per_group")},
                        {dnnl_graph_op_attr_group_shape, dims_t {2, 1}}});
    };
    const size_t x = g.tensor(t::f32, {3, 8});
    const size_t gate = matmul(g, {x, weights({8, 6})}, {3, 6});
    const size_t up = matmul(g, {x, weights({8, 6})}, {3, 6});
    const size_t sigmoid
            = g.op(dnnl_graph_op_sigmoid, {gate}, t::f32, {3, 6}, {});
    const size_t silu = g.binary(dnnl_graph_op_multiply, gate, sigmoid);
    const size_t gated = g.binary(dnnl_graph_op_multiply, silu, up);
    matmul(g, {gated, weights({6, 8})}, {3, 8});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 1 2 3 4 5 6 7 8"}));
    const partition_t &compound = *g.ours(1);
    EXPECT_EQ(compound.kind, partition_kind_t::compound);
    EXPECT_EQ(parts_of(compound),
            (parts_t {"matmul: 2 3", "matmul: 0 1 4 5 6", "matmul: 7 8"}));
    // oneDNN's own, of the same ops, serves what a part refuses.
    EXPECT_EQ(compound.upstream.size(), 1u);
}

// Whichever comes first in oneDNN's list.
TEST(matmul, splits_a_partition_in_the_order_of_its_values) {
    pattern_graph_t g;
    const size_t weights = g.dequantize_groups(g.tensor(t::u4, {6, 8}), {2, 1});
    const size_t product
            = matmul(g, {g.tensor(t::f32, {4, 6}), weights}, {4, 8});
    g.relu(g.relu(product));
    g.partitions(); // which finalizes the graph
    EXPECT_EQ(g.split({3, 1, 0, 2}), (ids_t {0, 1, 2, 3}));
}

// A partition of one op does not know the mode of its graph.
TEST(matmul, does_not_split_what_would_lose_the_fpmath_mode) {
    for (const bool has_plain : {false, true}) {
        pattern_graph_t g;
        const size_t weights
                = g.dequantize_groups(g.tensor(t::u4, {6, 8}), {2, 1});
        const size_t product
                = matmul(g, {g.tensor(t::f32, {4, 6}), weights}, {4, 8});
        if (has_plain) matmul(g, {product, g.tensor(t::f32, {8, 6})}, {4, 6});
        else g.relu(product);
        g.partitions();
        EXPECT_EQ(g.split({0, 1, 2}), (ids_t {0, 1, 2}));
        g.set_fpmath_mode(dnnl_fpmath_mode_bf16);
        EXPECT_EQ(g.split({0, 1, 2}), has_plain ? ids_t {} : ids_t({0, 1, 2}));
    }
}

// Ops 1 to 5, if `query` is an op's value: scores of [2, 4, 6].
void attend(pattern_graph_t &g, size_t query, dim_t axis) {
    const size_t scores
            = matmul(g, {query, g.dequantized({2, 8, 6})}, {2, 4, 6});
    const size_t weights = g.op(dnnl_graph_op_softmax, {scores}, t::f32,
            {2, 4, 6}, {{dnnl_graph_op_attr_axis, dims_t {axis}}});
    matmul(g, {weights, g.dequantized({2, 6, 8})}, {2, 4, 8});
}

TEST(attention, has_a_query_that_another_op_gives) {
    pattern_graph_t g;
    attend(g, g.relu(g.tensor(t::f32, {2, 4, 8})), -1);
    EXPECT_EQ(g.partitions(), (parts_t {"0", "ours: 1 2 3 4 5"}));
}

TEST(attention, is_none_where_softmax_is_not_along_tokens) {
    pattern_graph_t g;
    attend(g, g.relu(g.tensor(t::f32, {2, 4, 8})), 1);
    EXPECT_NE(g.partitions(), (parts_t {"0", "ours: 1 2 3 4 5"}));
    EXPECT_TRUE(logs(g, {"its axis is 1", "expected that of tokens, 2"}));
}

// oneDNN fuses the last op with one of the products, ours with the first.
TEST(matmul, takes_both_products_of_a_sum_or_a_product) {
    for (const int kind : {dnnl_graph_op_add, dnnl_graph_op_multiply})
        for (const bool swapped : {false, true}) {
            pattern_graph_t g;
            const size_t x = g.tensor(t::f32, {3, 8});
            const size_t a = matmul(g, {x, g.dequantized({8, 6})}, {3, 6});
            const size_t b = matmul(g, {x, g.dequantized({8, 6})}, {3, 6});
            g.binary(kind, swapped ? b : a, swapped ? a : b);
            EXPECT_EQ(g.partitions(),
                    swapped ? (parts_t {"ours: 0 1", "ours: 2 3 4"})
                            : (parts_t {"ours: 0 1 4", "ours: 2 3"}));
        }
}

// oneDNN fuses what no kernel of ours computes with the product.
TEST(matmul, leaves_to_onednn_what_is_not_ours_behind_it) {
    for (const int kind : {dnnl_graph_op_maximum, dnnl_graph_op_minimum,
                 dnnl_graph_op_subtract, dnnl_graph_op_divide}) {
        pattern_graph_t g;
        const size_t x = g.tensor(t::f32, {3, 8});
        const size_t product = matmul(g, {x, g.dequantized({8, 6})}, {3, 6});
        const size_t other
                = g.binary(kind, g.relu(product), g.tensor(t::f32, {3, 6}));
        g.relu(other);
        EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 1 2 3 4"}));
        EXPECT_EQ(parts_of(*g.ours(0)),
                (parts_t {"matmul: 0 1 2", "onednn: 3", "onednn: 4"}));
    }
}

// Two products are in one partition of oneDNN's, one by weights that are
// floats.
TEST(matmul, leaves_other_products_of_that_partition_to_onednn) {
    pattern_graph_t g;
    const size_t x = g.tensor(t::f32, {3, 8});
    const auto weights = [&](const dims_t &dims) {
        return g.cast(g.dequantized(dims, t::bf16), t::f32);
    };
    const size_t gate = matmul(g, {x, weights({8, 6})}, {3, 6});
    const size_t up = matmul(g, {x, g.tensor(t::f32, {8, 6})}, {3, 6});
    const size_t gated = g.binary(dnnl_graph_op_multiply, g.relu(gate), up);
    matmul(g, {gated, weights({6, 8})}, {3, 8});
    EXPECT_EQ(g.partitions(), (parts_t {"ours: 0 1 2 3 4 5 6 7 8"}));
    const partition_t &compound = *g.ours(0);
    EXPECT_EQ(parts_of(compound),
            (parts_t {"onednn: 3", "matmul: 0 1 2 4 5", "matmul: 6 7 8"}));
    // oneDNN has these ops in several partitions.
    EXPECT_TRUE(compound.upstream.empty());
}

} // namespace
} // namespace dnnl_dequant
