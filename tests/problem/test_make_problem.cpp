#include "problem/make_problem.hpp"

#include <gtest/gtest.h>

#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace {

using support::dense_strides;
using support::permuted_strides;

const std::vector<step_t> scale_only {{step_kind_t::multiply, 1}};

tensor_view_t view(data_type_t type, const dims_t &strides) {
    return {type, strides, false};
}

tensor_view_t grouped(data_type_t type, const dims_t &strides) {
    return {type, strides, true};
}

// u8 to f32, src and dst dense.
problem_t dense_problem(
        const dims_t &dims, const dims_t &groups, const dims_t &scales) {
    const dims_t dense = dense_strides(dims);
    return make_problem(dims, groups,
            {view(data_type_t::u8, dense), grouped(data_type_t::f32, scales),
                    view(data_type_t::f32, dense)},
            scale_only);
}

dims_t extents(const problem_t &problem) {
    dims_t result;
    for (const auto &loop : problem.loops)
        result.push_back(loop.extent);
    return result;
}

void expect_no_parents(const problem_t &problem) {
    for (const auto &loop : problem.loops) {
        EXPECT_EQ(loop.parent, -1) << to_string(problem);
        EXPECT_EQ(loop.last_extent, 0) << to_string(problem);
    }
}

TEST(make_problem_merging, dense_per_tensor_of_rank_five_is_one_loop) {
    const dims_t dims {2, 3, 4, 5, 6};
    const auto p = dense_problem(dims, dims, dims_t(5, 0));
    EXPECT_EQ(extents(p), dims_t {720});
    EXPECT_EQ(p.src().strides, dims_t {1});
    EXPECT_EQ(p.operands[1].strides, dims_t {0});
    EXPECT_EQ(p.dst().strides, dims_t {1});
    expect_no_parents(p);
}

TEST(make_problem_merging, per_tensor_ignores_strides_of_the_only_group) {
    const dims_t dims {4, 6};
    const auto p = dense_problem(dims, dims, {1, 1});
    EXPECT_EQ(extents(p), dims_t {24});
    EXPECT_EQ(p.operands[1].strides, dims_t {0});
}

TEST(make_problem_merging, groups_that_no_tensor_tells_apart_vanish) {
    // Even short ones: a grouped tensor of stride 0 is constant.
    const auto p = dense_problem({7, 10}, {2, 3}, {0, 0});
    EXPECT_EQ(extents(p), dims_t {70});
    expect_no_parents(p);
}

TEST(make_problem_merging, first_channel_leaves_two_loops) {
    const auto p = dense_problem({8, 3, 5}, {1, 3, 5}, {1, 0, 0});
    EXPECT_EQ(extents(p), (dims_t {8, 15}));
    EXPECT_EQ(p.operands[1].strides, (dims_t {1, 0}));
    EXPECT_EQ(p.dst().strides, (dims_t {15, 1}));
}

TEST(make_problem_merging, mid_channel_leaves_three_loops) {
    const auto p = dense_problem({8, 3, 5}, {8, 1, 5}, {0, 1, 0});
    EXPECT_EQ(extents(p), (dims_t {8, 3, 5}));
    EXPECT_EQ(p.operands[1].strides, (dims_t {0, 1, 0}));
}

TEST(make_problem_merging, last_channel_leaves_two_loops) {
    const auto p = dense_problem({8, 3, 5}, {8, 3, 1}, {0, 0, 1});
    EXPECT_EQ(extents(p), (dims_t {24, 5}));
    EXPECT_EQ(p.operands[1].strides, (dims_t {0, 1}));
}

TEST(make_problem_merging, even_groups_on_the_last_dimension_merge_outwards) {
    // One scale a group, groups follow each other through all rows.
    const auto p = dense_problem({6, 64}, {1, 16}, {4, 1});
    EXPECT_EQ(extents(p), (dims_t {24, 16}));
    EXPECT_EQ(p.operands[1].strides, (dims_t {1, 0}));
    EXPECT_EQ(p.dst().strides, (dims_t {16, 1}));
    expect_no_parents(p);
}

TEST(make_problem_merging, groups_of_one_are_one_loop) {
    const auto p = dense_problem({6, 8}, {1, 1}, {8, 1});
    EXPECT_EQ(extents(p), dims_t {48});
    EXPECT_EQ(p.operands[1].strides, dims_t {1});
}

TEST(make_problem_merging, needs_every_operand_to_compose) {
    const dims_t dims {4, 6};
    const auto p = make_problem(dims, dims,
            {view(data_type_t::u8, {8, 1}), grouped(data_type_t::f32, {0, 0}),
                    view(data_type_t::f32, {6, 1})},
            scale_only);
    EXPECT_EQ(extents(p), dims);
    EXPECT_EQ(p.src().strides, (dims_t {8, 1}));
}

TEST(make_problem_merging, equal_padding_of_an_outer_dimension_stays) {
    // Rows padded alike in src and dst: the rows merge, the padding does not.
    const dims_t dims {4, 5, 6};
    const auto p = make_problem(dims, dims,
            {view(data_type_t::s8, {40, 8, 1}),
                    grouped(data_type_t::f32, {0, 0, 0}),
                    view(data_type_t::f32, {40, 8, 1})},
            scale_only);
    EXPECT_EQ(extents(p), (dims_t {20, 6}));
    EXPECT_EQ(p.dst().strides, (dims_t {8, 1}));
}

TEST(make_problem_merging, extent_one_is_dropped_whatever_its_stride) {
    const dims_t dims {1, 4, 1, 6, 1};
    const auto p = make_problem(dims, dims,
            {view(data_type_t::u8, {999, 6, 77, 1, 5}),
                    grouped(data_type_t::f32, {0, 0, 0, 0, 0}),
                    view(data_type_t::f32, {1, 6, 3, 1, 12345})},
            scale_only);
    EXPECT_EQ(extents(p), dims_t {24});
}

TEST(make_problem_order, falls_with_the_stride_of_dst) {
    const dims_t dims {3, 5, 7};
    const auto p = make_problem(dims, dims,
            {view(data_type_t::u8, dense_strides(dims)),
                    grouped(data_type_t::f32, {0, 0, 0}),
                    view(data_type_t::f32, permuted_strides(dims, {2, 0, 1}))},
            scale_only);
    // Dimensions 0 and 1 are neighbours in both.
    EXPECT_EQ(extents(p), (dims_t {7, 15}));
    EXPECT_EQ(p.dst().strides, (dims_t {15, 1}));
    EXPECT_EQ(p.src().strides, (dims_t {1, 7}));
}

TEST(make_problem_order, a_transposed_src_keeps_two_loops) {
    const dims_t dims {4, 6};
    const auto p = make_problem(dims, dims,
            {view(data_type_t::u4, {1, 4}), grouped(data_type_t::f32, {0, 0}),
                    view(data_type_t::bf16, {6, 1})},
            scale_only);
    EXPECT_EQ(extents(p), dims);
    EXPECT_EQ(p.src().strides, (dims_t {1, 4}));
    EXPECT_EQ(p.dst().strides, (dims_t {6, 1}));
}

TEST(make_problem_order, same_permutation_on_both_sides_is_dense) {
    const dims_t dims {3, 5, 7};
    const dims_t strides = permuted_strides(dims, {2, 0, 1});
    const auto p = make_problem(dims, dims,
            {view(data_type_t::u8, strides),
                    grouped(data_type_t::f32, {0, 0, 0}),
                    view(data_type_t::f32, strides)},
            scale_only);
    EXPECT_EQ(extents(p), dims_t {105});
}

TEST(make_problem_tail, one_short_group) {
    const auto p = dense_problem({3, 50}, {1, 16}, {4, 1});
    EXPECT_EQ(extents(p), (dims_t {3, 4, 16}));
    EXPECT_EQ(p.loops[2], (loop_t {16, 1, 2}));
    EXPECT_EQ(p.loops[1], (loop_t {4, -1, 0}));
    EXPECT_EQ(p.operands[1].strides, (dims_t {4, 1, 0}));
    EXPECT_EQ(p.dst().strides, (dims_t {50, 16, 1}));
    EXPECT_EQ(element_count(p), 150);
}

TEST(make_problem_tail, a_child_absorbs_what_is_inside_it) {
    const auto p = dense_problem({10, 3, 5}, {4, 3, 5}, {1, 0, 0});
    EXPECT_EQ(extents(p), (dims_t {3, 60}));
    EXPECT_EQ(p.loops[1], (loop_t {60, 0, 30}));
    EXPECT_EQ(p.dst().strides, (dims_t {60, 1}));
    EXPECT_EQ(element_count(p), 150);
}

TEST(make_problem_tail, a_parent_is_not_merged_with_what_is_outside) {
    // Scales compose over rows and groups, but each row has its own tail.
    const auto p = dense_problem({6, 50}, {1, 16}, {4, 1});
    EXPECT_EQ(extents(p), (dims_t {6, 4, 16}));
}

TEST(make_problem_tail, two_short_groups) {
    const auto p = dense_problem({7, 11}, {2, 4}, {3, 1});
    EXPECT_EQ(extents(p), (dims_t {4, 2, 3, 4}));
    EXPECT_EQ(p.loops[1], (loop_t {2, 0, 1}));
    EXPECT_EQ(p.loops[3], (loop_t {4, 2, 3}));
    EXPECT_EQ(p.dst().strides, (dims_t {22, 11, 4, 1}));
    EXPECT_EQ(element_count(p), 77);
}

TEST(make_problem_tail, transposed_dst_keeps_parents_outside_their_children) {
    const dims_t dims {7, 11};
    const auto p = make_problem(dims, {2, 4},
            {view(data_type_t::u8, {11, 1}), grouped(data_type_t::f32, {3, 1}),
                    view(data_type_t::f32, {1, 7})},
            scale_only);
    EXPECT_EQ(p.dst().strides, (dims_t {28, 7, 2, 1}));
    EXPECT_EQ(p.loops[1], (loop_t {4, 0, 3}));
    EXPECT_EQ(p.loops[3], (loop_t {2, 2, 1}));
}

TEST(make_problem_tail, two_grouped_tensors_share_the_split) {
    const dims_t dims {2, 9};
    const auto p = make_problem(dims, {1, 4},
            {view(data_type_t::s4, {9, 1}), grouped(data_type_t::u4, {3, 1}),
                    grouped(data_type_t::f16, {1, 2}),
                    view(data_type_t::f16, {9, 1})},
            {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}});
    EXPECT_EQ(p.operands[1].strides, (dims_t {3, 1, 0}));
    EXPECT_EQ(p.operands[2].strides, (dims_t {1, 2, 0}));
}

TEST(make_problem, int4_strides_count_elements) {
    // A transposed u4 of the public graph corpus. Nothing merges: what is
    // neighbouring in dst is not in src.
    const dims_t dims {1, 32, 128, 32};
    const auto p = make_problem(dims, {1, 1, 8, 1},
            {view(data_type_t::u4, {131072, 4096, 1, 128}),
                    grouped(data_type_t::f32, {16384, 512, 32, 1}),
                    view(data_type_t::f32, dense_strides(dims))},
            scale_only);
    EXPECT_EQ(extents(p), (dims_t {32, 16, 8, 32}));
    EXPECT_EQ(p.src().strides, (dims_t {4096, 8, 1, 128}));
    EXPECT_EQ(p.operands[1].strides, (dims_t {512, 32, 0, 1}));
    EXPECT_EQ(p.dst().strides, (dims_t {4096, 256, 32, 1}));
    expect_no_parents(p);
}

TEST(make_problem, rank_zero_has_no_loops) {
    const auto p = dense_problem({}, {}, {});
    EXPECT_TRUE(p.loops.empty());
    EXPECT_EQ(element_count(p), 1);
    EXPECT_EQ(bytes_to_move(p), 1 + 4 + 4);
}

TEST(make_problem, a_dimension_of_zero_is_one_empty_loop) {
    const auto p = dense_problem({3, 0, 5}, {1, 1, 2}, {1, 1, 1});
    EXPECT_EQ(extents(p), dims_t {0});
    EXPECT_EQ(p.dst().strides.size(), 1u);
    EXPECT_EQ(element_count(p), 0);
    EXPECT_EQ(bytes_to_move(p), 0);
    EXPECT_EQ(p, dense_problem({0}, {1}, {1}));
}

TEST(make_problem, every_dimension_of_twelve_grouped_and_short) {
    const dims_t dims(12, 3), groups(12, 2);
    const auto p = dense_problem(dims, groups, dense_strides(dims_t(12, 2)));
    ASSERT_EQ(p.loops.size(), 24u);
    dim_t count = 1;
    for (size_t l = 0; l < 24; l += 2) {
        EXPECT_EQ(p.loops[l], (loop_t {2, -1, 0}));
        EXPECT_EQ(p.loops[l + 1], (loop_t {2, static_cast<int>(l), 1}));
        count *= 3;
    }
    EXPECT_EQ(element_count(p), count);
}

} // namespace
} // namespace dnnl_dequant
