// Checks the ops that a chain takes and those that it refuses, step by step.

#include "problem/chain.hpp"

#include <gtest/gtest.h>

#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;

// --- what is taken

chain_t chain_of(const dims_t &shape) {
    chain_t chain;
    chain.begin(t::u8, shape, support::dense_strides(shape));
    return chain;
}

// Strides of scales in groups of `group` along the last dimension of two.
chain_t::view_t scales_in(const dims_t &shape, dim_t group) {
    const dim_t groups = div_up(shape[1], group);
    return {t::f32, {{groups, 1}, {1, group}}};
}

std::string problem_text(const chain_t &chain) {
    problem_t problem;
    const result_t result
            = chain.finish(support::dense_strides(chain.shape()), problem);
    return result.ok() ? to_string(problem) : result.reason;
}

TEST(chain, of_a_reshape_there_and_back_is_what_it_was) {
    chain_t chain = chain_of({6, 8});
    chain.set_type(t::f32);
    const std::string before = problem_text(chain);
    EXPECT_TRUE(chain.reshape({2, 3, 2, 4}).ok());
    EXPECT_TRUE(chain.reshape({1, 48}).ok());
    EXPECT_TRUE(chain.reshape({6, 8}).ok());
    EXPECT_EQ(problem_text(chain), before);
    EXPECT_EQ(before, "48;src:u8:1;dst:f32:1");
}

TEST(chain, of_a_reshape_moves_groups_into_dimensions) {
    chain_t chain = chain_of({4, 64});
    const auto view = scales_in({4, 64}, 16);
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, view).ok());
    chain.set_type(t::f32);
    const std::string before = problem_text(chain);
    EXPECT_TRUE(chain.reshape({4, 4, 16}).ok());
    EXPECT_EQ(problem_text(chain), before);
    EXPECT_TRUE(chain.reshape({16, 16}).ok());
    EXPECT_EQ(problem_text(chain), before);
    EXPECT_TRUE(chain.reshape({32, 8}).ok()); // groups are cut in halves
    EXPECT_EQ(problem_text(chain), before);
}

TEST(chain, knows_its_shortest_group) {
    chain_t chain = chain_of({4, 64});
    EXPECT_EQ(chain.shortest_group(1), 0);
    ASSERT_TRUE(
            chain.apply(step_kind_t::multiply, scales_in({4, 64}, 16)).ok());
    EXPECT_EQ(chain.shortest_group(0), 0); // a scale each
    EXPECT_EQ(chain.shortest_group(1), 16);
    ASSERT_TRUE(chain.apply(step_kind_t::add, scales_in({4, 64}, 8)).ok());
    EXPECT_EQ(chain.shortest_group(1), 8);
    ASSERT_TRUE(chain.reshape({4, 4, 16}).ok());
    EXPECT_EQ(chain.shortest_group(1), 0);
    EXPECT_EQ(chain.shortest_group(2), 8);
    // Groups of whole dimensions that are one again.
    ASSERT_TRUE(chain.reshape({4, 64}).ok());
    EXPECT_EQ(chain.shortest_group(1), 8);
}

// Rows 8 apart do not lie like one dimension: 24 indices are 4 rows of 6, of
// which two share a scale.
TEST(chain, is_cut_between_rows_and_between_groups) {
    chain_t chain;
    chain.begin(t::u8, {4, 6}, {8, 1});
    const chain_t::view_t view {t::f32, {{1, 2}, {0, 1}}};
    ASSERT_TRUE(chain.apply(step_kind_t::multiply, view).ok());
    ASSERT_TRUE(chain.reshape({24}).ok());
    for (const dim_t size : {6, 12, 24})
        EXPECT_TRUE(chain.cuts_evenly(0, size)) << size;
    for (const dim_t size : {4, 8, 18, 30})
        EXPECT_FALSE(chain.cuts_evenly(0, size)) << size;
}

TEST(chain, of_what_lies_like_one_dimension_takes_any_shape) {
    chain_t chain = chain_of({4, 6});
    EXPECT_TRUE(chain.reshape({6, 4}).ok());
    EXPECT_TRUE(chain.reshape({3, 8}).ok());
    chain.set_type(t::f32);
    EXPECT_EQ(problem_text(chain), "24;src:u8:1;dst:f32:1");
    // Groups that a row is made of go on where the next row begins.
    chain = chain_of({6, 8});
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, scales_in({6, 8}, 4)).ok());
    EXPECT_TRUE(chain.reshape({4, 12}).ok());
    chain.set_type(t::f32);
    EXPECT_EQ(problem_text(chain),
            "12x4;src:u8:4:1;arg1:f32:1:0;dst:f32:4:1;mul:arg1");
}

TEST(chain, of_a_cut_and_joined_dimension_may_be_cut_elsewhere) {
    chain_t chain = chain_of({4, 96});
    ASSERT_TRUE(chain.reshape({4, 4, 24}).ok());
    ASSERT_TRUE(chain.reshape({4, 96}).ok());
    EXPECT_TRUE(
            chain.apply(step_kind_t::multiply, scales_in({4, 96}, 32)).ok());
}

TEST(chain, keeps_a_short_last_group_where_none_is_cut) {
    chain_t chain = chain_of({4, 100});
    const auto view = scales_in({4, 100}, 32);
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, view).ok());
    chain.set_type(t::f32);
    const std::string before = problem_text(chain);
    EXPECT_TRUE(chain.reshape({4, 25, 4}).ok());
    EXPECT_TRUE(chain.reshape({2, 2, 100}).ok());
    EXPECT_EQ(problem_text(chain), before);
}

TEST(chain, rounds_where_a_value_was_stored_and_last_by_storing) {
    chain_t chain = chain_of({3});
    const chain_t::view_t scale {t::f32, {{0, 1}}};
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, scale).ok());
    chain.set_type(t::bf16);
    chain.set_type(t::bf16);
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, scale).ok());
    chain.set_type(t::f16);
    EXPECT_EQ(problem_text(chain),
            "3;src:u8:1;arg1:f32:0;arg2:f32:0;dst:f16:1;mul:arg1;round:bf16;"
            "mul:arg2");
    chain.set_type(t::f32);
    EXPECT_EQ(problem_text(chain),
            "3;src:u8:1;arg1:f32:0;arg2:f32:0;dst:f32:1;mul:arg1;round:bf16;"
            "mul:arg2;round:f16");
}

TEST(chain, of_two_values_names_the_operands_of_both) {
    chain_t chain = chain_of({3}), other = chain_of({3});
    const chain_t::view_t scale {t::f32, {{0, 1}}};
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, scale).ok());
    EXPECT_TRUE(other.apply(step_kind_t::multiply, scale).ok());
    EXPECT_FALSE(chain.has_pushed());
    EXPECT_TRUE(chain.add(other).ok());
    EXPECT_TRUE(chain.has_pushed());
    chain.set_type(t::f32);
    EXPECT_EQ(problem_text(chain),
            "3;src:u8:1;arg1:f32:0;arg2:u8:1;arg3:f32:0;dst:f32:1;mul:arg1;"
            "push:arg2;mul:arg3;pop_add");
}

TEST(chain, knows_in_which_order_src_lies) {
    chain_t chain = chain_of({4, 6});
    EXPECT_EQ(chain.preferred_order(), (dims_t {6, 1}));
    chain.transpose({1, 0});
    EXPECT_EQ(chain.preferred_order(), (dims_t {1, 6}));
    EXPECT_TRUE(chain.reshape({6, 1, 4}).ok());
    const dims_t order = chain.preferred_order();
    EXPECT_LT(order[0], order[2]);
}

TEST(chain, of_an_unknown_shape_tells_types_only) {
    chain_t chain;
    chain.begin_unknown(t::u8);
    EXPECT_FALSE(chain.has_shape());
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, {t::f32, {}}).ok());
    chain.set_type(t::bf16);
    chain.transpose({1, 0});
    EXPECT_EQ(chain.type(), t::bf16);
    EXPECT_EQ(chain.operand_count(), 2u);
    EXPECT_EQ(chain.reshape({6}).reason,
            "a reshape of a shape that is not known yet");
    EXPECT_EQ(chain.add(chain_of({6})).reason,
            "two values of shapes that are not known yet");
}

TEST(chain, of_no_elements_is_one_empty_loop) {
    chain_t chain = chain_of({3, 0, 5});
    const chain_t::view_t view {t::f32, {{1, 2}, {0, 1}, {2, 1}}};
    EXPECT_TRUE(chain.apply(step_kind_t::multiply, view).ok());
    chain.transpose({2, 0, 1});
    EXPECT_TRUE(chain.reshape({0, 7}).ok());
    EXPECT_TRUE(chain.add(chain_of({0, 7})).ok());
    chain.set_type(t::f32);
    problem_t problem;
    ASSERT_TRUE(chain.finish({7, 1}, problem).ok());
    EXPECT_EQ(element_count(problem), 0);
}

TEST(chain, of_no_elements_has_no_places_but_the_first) {
    chain_t chain;
    chain.begin(data_type_t::u8, {3, 0, 65}, {0, 65, 1});
    ASSERT_TRUE(
            chain.apply(step_kind_t::multiply,
                         {data_type_t::f32, {{1, 1}, {}, {3, 8}}})
                    .ok());
    chain.place_dst({0, 65, 1});
    for (size_t operand = 0; operand < 3; ++operand)
        for (size_t d = 0; d < 3; ++d)
            EXPECT_EQ(chain.offset_of(operand, d, 2), 0);
}

// --- what is refused

void expect_refused(const result_t &result, const std::string &reason,
        status_t status = status_t::unimplemented) {
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.reason, reason);
}

TEST(chain_refuses, a_reshape_to_another_number_of_elements) {
    expect_refused(chain_of({4, 6}).reshape({4, 7}),
            "a reshape from 4x6 to 4x7; expected as many elements",
            status_t::invalid_shape);
    expect_refused(chain_of({}).reshape({2}),
            "a reshape from a scalar to 2; expected as many elements",
            status_t::invalid_shape);
}

TEST(chain_refuses, a_reshape_of_more_than_any_memory_has) {
    const dim_t half = dim_t {1} << 32, most = dim_t {1} << 62;
    expect_refused(chain_of({half, half}).reshape({2 * half, 2 * half}),
            "a reshape from 4294967296x4294967296 to 8589934592x8589934592: "
            "too large to address",
            status_t::invalid_shape);
    expect_refused(chain_of({2, 2}).reshape({most, 4}),
            "a reshape from 2x2 to 4611686018427387904x4; expected as many "
            "elements",
            status_t::invalid_shape);
    EXPECT_TRUE(chain_of({0}).reshape({most, 4, 0}).ok());
}

TEST(chain_refuses, a_reshape_whose_dimensions_do_not_refine) {
    chain_t chain = chain_of({4, 6});
    chain.transpose({1, 0});
    expect_refused(chain.reshape({4, 6}),
            "a reshape from 6x4 to 4x6, which have no common cut");
    EXPECT_EQ(chain.shape(), (dims_t {6, 4}));
}

TEST(chain_refuses, to_cut_a_group) {
    chain_t chain = chain_of({4, 96});
    const auto view = scales_in({4, 96}, 32);
    ASSERT_TRUE(chain.apply(step_kind_t::multiply, view).ok());
    expect_refused(chain.reshape({4, 4, 24}),
            "a dimension of 96 cut every 24 would cut groups of 32");
    EXPECT_EQ(chain.shape(), (dims_t {4, 96}));
    // Nor afterwards, where the dimension is cut already.
    chain_t cut = chain_of({24, 4, 4});
    cut.transpose({2, 1, 0});
    ASSERT_TRUE(cut.reshape({4, 96}).ok());
    expect_refused(cut.apply(step_kind_t::multiply, view),
            "a dimension of 96 cut every 24 would cut groups of 32");
    EXPECT_EQ(cut.operand_count(), 1u);
}

TEST(chain_refuses, groups_that_differ_and_are_short) {
    chain_t chain = chain_of({2, 10});
    ASSERT_TRUE(chain.apply(step_kind_t::subtract, scales_in({2, 10}, 3)).ok());
    ASSERT_TRUE(chain.apply(step_kind_t::multiply, scales_in({2, 10}, 4)).ok());
    chain.set_type(t::f32);
    EXPECT_EQ(problem_text(chain),
            "groups of 3 and of 4 along one dimension of 10");
}

TEST(chain_refuses, short_groups_of_two_operands_in_two_places) {
    chain_t chain = chain_of({7, 10});
    ASSERT_TRUE(chain.apply(step_kind_t::subtract, {t::u8, {{10, 2}, {1, 1}}})
                    .ok());
    ASSERT_TRUE(chain.apply(step_kind_t::multiply, {t::f32, {{4, 1}, {1, 3}}})
                    .ok());
    chain.set_type(t::f32);
    EXPECT_EQ(problem_text(chain),
            "short last groups of two operands along different dimensions");
}

TEST(chain_refuses, values_of_different_shapes) {
    chain_t chain = chain_of({4, 6});
    expect_refused(chain.add(chain_of({6, 4})),
            "values of different shapes, 4x6 and 6x4");
    chain_t other = chain_of({6, 4});
    other.transpose({1, 0});
    EXPECT_TRUE(chain.add(other).ok());
}

TEST(chain_refuses, values_whose_dimensions_are_cut_differently) {
    chain_t chain = chain_of({4, 6}), other = chain_of({6, 4});
    chain.transpose({1, 0});
    other.transpose({1, 0});
    ASSERT_TRUE(chain.reshape({24}).ok());
    ASSERT_TRUE(other.reshape({24}).ok());
    expect_refused(
            chain.add(other), "dimensions of 6 and 4 have no common cut");
    EXPECT_FALSE(chain.has_pushed());
}

} // namespace
} // namespace dnnl_dequant
