// Matches and partitions: counts, group sizes and identities.

#include <gtest/gtest.h>

#include "exec/log_text.hpp"
#include "graph/granularity.hpp"
#include "graph/layout_op.hpp"
#include "partition/partition.hpp"
#include "patterns/pattern_graph.hpp"

namespace dnnl_dequant {
namespace {

composition_t of_sources(size_t count) {
    composition_t composition;
    composition.sources.resize(count);
    return composition;
}

// A kernel has so many ports: each tensor of a part counts, and each tensor of
// a mask.
TEST(tensor_count, counts_every_tensor_of_attention) {
    score_part_t scaled, kept, causal;
    scaled.steps = of_sources(3); // one of them stands for the scores
    kept.steps = of_sources(1);
    kept.mask.kind = score_mask_t::kind_t::tensor; // condition and fill
    causal.steps = of_sources(2);
    causal.mask.kind = score_mask_t::kind_t::causal;
    causal.mask.offsets.resize(2); // and fill
    attention_t attention;
    attention.query = of_sources(2);
    attention.keys = of_sources(4);
    attention.parts = {scaled, kept, causal};
    product_t product;
    product.src = of_sources(0);
    product.weights = of_sources(5);
    product.attention = std::make_shared<attention_t>(attention);
    composition_t result = of_sources(1);
    result.product = std::make_shared<product_t>(product);
    EXPECT_EQ(tensor_count(result), 1u + 5 + (2 + 4) + 2 + 2 + (1 + 3));
}

TEST(append_ops, keeps_producers_before_consumers) {
    const op_record_t ops[4] = {};
    composition_t first, second;
    first.ops = {&ops[0], &ops[1]};
    first.must_be_zero = {7};
    second.ops = {&ops[2], &ops[3]};
    second.must_be_zero = {8};
    append_ops(first, second);
    EXPECT_EQ(first.ops, (std::vector<const op_record_t *> {
                                 &ops[0], &ops[1], &ops[2], &ops[3]}));
    EXPECT_EQ(first.must_be_zero, (std::vector<size_t> {7, 8}));
}

// The log tells users of them.
TEST(partition_kind, has_a_name) {
    EXPECT_STREQ(to_string(partition_kind_t::dequantize), "dequantize");
    EXPECT_STREQ(to_string(partition_kind_t::quantize), "quantize");
    EXPECT_STREQ(to_string(partition_kind_t::chain), "chain");
    EXPECT_STREQ(to_string(partition_kind_t::matmul), "matmul");
    EXPECT_STREQ(to_string(partition_kind_t::attention), "attention");
    EXPECT_STREQ(to_string(partition_kind_t::compound), "compound");
    EXPECT_STREQ(to_string(partition_kind_t::onednn), "onednn");
}

TEST(reshaped_dims, has_nothing_left_where_a_dimension_is_zero) {
    op_record_t op;
    op.kind = dnnl_graph_op_static_reshape;
    op.attributes[dnnl_graph_op_attr_shape] = dims_t {0, -1};
    op.attributes[dnnl_graph_op_attr_special_zero]
            = std::vector<uint8_t> {uint8_t {0}};
    dims_t dims;
    ASSERT_TRUE(reshaped_dims(op, {4, 0}, dims).ok());
    EXPECT_EQ(dims, (dims_t {0, 0}));
}

// A log line is one line, whatever an op is called.
TEST(printable, escapes_what_is_not_a_plain_character) {
    EXPECT_EQ(printable("op 1"), "op 1");
    EXPECT_EQ(printable("a,\n\"\x80z"), "a\\x2c\\x0a\\x22\\x80z");
    EXPECT_EQ(printable(std::string(65, 'x')), std::string(64, 'x') + "...");
}

TEST(make_log_text, names_ops_and_strides) {
    pattern_graph_t g;
    g.relu(g.dequantized({4, 6}));
    ASSERT_EQ(g.partitions(), parts_t {"ours: 0 1"});
    const std::string text = make_log_text(*g.ours(0), g.lowered(0));
    EXPECT_NE(text.find(",chain,op0;op1,,"), std::string::npos) << text;
    EXPECT_NE(text.find(":4x6:6s1 "), std::string::npos) << text;
}

TEST(group_sizes, of_channels_are_one_along_their_axis) {
    granularity_t granularity;
    granularity.qtype = qtype_t::per_channel;
    for (const dim_t axis : {0, 1, 2}) {
        dims_t expected {4, 6, 5};
        expected[static_cast<size_t>(axis)] = 1;
        granularity.axis = axis;
        EXPECT_EQ(group_sizes(granularity, {4, 6, 5}), expected) << axis;
        granularity.axis = axis - 3;
        EXPECT_EQ(group_sizes(granularity, {4, 6, 5}), expected) << axis;
    }
}

// Compiled partitions are shared by those that say the same.
TEST(make_partition, keeps_the_modes_of_its_graph) {
    graph_record_t graph;
    graph.fpmath_mode = dnnl_fpmath_mode_bf16;
    const partition_t floats = make_partition(graph, {});
    graph.fpmath_apply_to_int = true;
    const partition_t all = make_partition(graph, {});
    EXPECT_EQ(all.fpmath_mode, dnnl_fpmath_mode_bf16);
    EXPECT_TRUE(all.fpmath_apply_to_int);
    EXPECT_NE(all.identity, floats.identity);
}

} // namespace
} // namespace dnnl_dequant
