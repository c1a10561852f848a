// A chain's problem computes what the ops do to plain numbers, and what a
// chain refuses has a sentence that says why.

#include "problem/chain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <regex>

#include "problem/chain_model.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using support::random_t;
using t = data_type_t;

// --- random chains

// A chain and what it has to be equal to.
struct pair_t {
    chain_t chain;
    chain_model_t model;

    explicit pair_t(random_t &random)
        : model(random) {}
};

struct tally_t {
    int accepted = 0, refused = 0, finished = 0, unfinished = 0;
};

// Sentences with numbers in place of what differs.
void expect_reason(const result_t &result) {
    static const std::vector<std::regex> sentences {
            std::regex("a dimension of \\d+ cut every \\d+ would cut groups of "
                       "\\d+"),
            std::regex("dimensions of \\d+ and \\d+ have no common cut"),
            std::regex("a reshape from [\\dx]+ to [\\dx]+, which have no "
                       "common cut"),
            std::regex("groups of \\d+ and of \\d+ along one dimension of "
                       "\\d+"),
            std::regex("short last groups of two operands along different "
                       "dimensions"),
    };
    EXPECT_EQ(result.status, status_t::unimplemented);
    EXPECT_TRUE(std::any_of(sentences.begin(), sentences.end(),
            [&](const std::regex &sentence) {
        return std::regex_match(result.reason, sentence);
    })) << result.reason;
}

dims_t any_shape(random_t &random) {
    static const std::vector<dim_t> extents {1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 12};
    dims_t shape;
    const dim_t rank = random.between(0, 4);
    for (dim_t d = 0; d < rank; ++d)
        shape.push_back(random.pick(extents));
    if (random.one_in(40) && rank > 0) shape.front() = 0;
    return shape;
}

std::vector<size_t> any_order(size_t rank, random_t &random) {
    std::vector<size_t> order;
    for (size_t d = 0; d < rank; ++d)
        order.insert(
                order.begin()
                        + random.between(0, static_cast<dim_t>(order.size())),
                d);
    return order;
}

dims_t any_strides(const dims_t &shape, random_t &random) {
    if (random.one_in(3)) return support::dense_strides(shape);
    if (random.one_in(4))
        return support::padded_strides(shape, random.between(1, 3));
    return support::permuted_strides(shape, any_order(shape.size(), random));
}

std::vector<dim_t> factors_of(const dims_t &shape) {
    std::vector<dim_t> factors;
    for (dim_t dim : shape)
        for (dim_t prime = 2; dim > 1; ++prime)
            for (; dim % prime == 0; dim /= prime)
                factors.push_back(prime);
    return factors;
}

// As many elements in other dimensions; those of few cuts more often.
dims_t any_reshape(const dims_t &from, random_t &random) {
    if (product(from) == 0) return {3, 0};
    auto factors = factors_of(from);
    if (random.one_in(3))
        for (size_t i = factors.size(); i > 1; --i)
            std::swap(factors[i - 1],
                    factors[static_cast<size_t>(
                            random.between(0, static_cast<dim_t>(i) - 1))]);
    dims_t shape;
    for (const dim_t factor : factors) {
        if (random.one_in(6)) shape.push_back(1);
        if (shape.empty() || random.one_in(3) || shape.size() < 2)
            shape.push_back(factor);
        else shape.back() *= factor;
    }
    return shape;
}

// A scale, a zero point, a bias: groups, channels, or one for all.
chain_t::view_t any_view(t type, const dims_t &shape, random_t &random) {
    chain_t::view_t view {type, std::vector<chain_t::along_t>(shape.size())};
    dims_t counts(shape.size(), 1);
    const bool grouped = random.one_in(2);
    for (size_t d = 0; d < shape.size(); ++d) {
        const dim_t extent = std::max<dim_t>(shape[d], 1);
        dim_t group = extent;
        if (random.one_in(2)) group = 1;
        if (grouped && random.one_in(2)) group = random.between(1, extent);
        view.along[d].group = group;
        counts[d] = (extent + group - 1) / group;
    }
    const dims_t strides = any_strides(counts, random);
    for (size_t d = 0; d < shape.size(); ++d)
        view.along[d].stride = counts[d] == 1 ? 0 : strides[d];
    return view;
}

t any_float(random_t &random) {
    return random.pick(std::vector<t> {t::f32, t::bf16, t::f16});
}

bool note(const result_t &result, tally_t &tally) {
    ++(result.ok() ? tally.accepted : tally.refused);
    if (!result.ok()) expect_reason(result);
    return result.ok();
}

void any_apply(pair_t &p, random_t &random, tally_t &tally) {
    static const std::vector<step_kind_t> kinds {
            step_kind_t::subtract, step_kind_t::multiply, step_kind_t::add};
    static const std::vector<t> integers {t::s8, t::u8, t::s4, t::s32};
    const t type = random.one_in(3) ? random.pick(integers) : any_float(random);
    const auto view = any_view(type, p.model.shape(), random);
    const step_kind_t kind = random.pick(kinds);
    if (note(p.chain.apply(kind, view), tally)) p.model.apply(kind, view);
}

void begin(pair_t &p, const dims_t &shape, random_t &random) {
    static const std::vector<t> types {
            t::u8, t::s8, t::u4, t::s4, t::s32, t::u16, t::f32, t::bf16};
    const t type = random.pick(types);
    const dims_t strides = any_strides(shape, random);
    p.chain.begin(type, shape, strides);
    p.model.begin(type, shape, strides);
}

// Another value of the same shape, come by in another way.
void any_add(pair_t &p, random_t &random, tally_t &tally) {
    pair_t other(random);
    const dims_t &shape = p.model.shape();
    if (random.one_in(3)) {
        const auto order = any_order(shape.size(), random);
        dims_t before(shape.size());
        for (size_t d = 0; d < order.size(); ++d)
            before[order[d]] = shape[d];
        begin(other, before, random);
        any_apply(other, random, tally);
        other.chain.transpose(order);
        other.model.transpose(order);
    } else {
        begin(other, random.one_in(2) ? shape : any_reshape(shape, random),
                random);
        any_apply(other, random, tally);
        if (!note(other.chain.reshape(shape), tally)) return;
        other.model.reshape(shape);
    }
    ASSERT_EQ(other.chain.shape(), shape);
    if (note(p.chain.add(other.chain), tally)) p.model.add(other.model);
}

void any_step(pair_t &p, random_t &random, tally_t &tally) {
    switch (random.between(0, 7)) {
    case 0:
    case 1: {
        const auto order = any_order(p.model.shape().size(), random);
        p.chain.transpose(order);
        p.model.transpose(order);
        break;
    }
    case 2:
    case 3: {
        const dims_t shape = any_reshape(p.model.shape(), random);
        if (note(p.chain.reshape(shape), tally)) p.model.reshape(shape);
        break;
    }
    case 4: {
        const t type = any_float(random);
        p.chain.set_type(type);
        p.model.set_type(type);
        break;
    }
    case 5:
        if (p.chain.operand_count() < 6) any_add(p, random, tally);
        break;
    case 6:
        p.chain.clamp(-0.5f, 6);
        p.model.clamp(-0.5f, 6);
        break;
    default:
        if (p.chain.operand_count() < 6) any_apply(p, random, tally);
    }
}

void check_chain(random_t &random, tally_t &tally) {
    pair_t p(random);
    begin(p, any_shape(random), random);
    const dim_t steps = random.between(0, 8);
    for (dim_t step = 0; step < steps; ++step) {
        any_step(p, random, tally);
        ASSERT_EQ(p.chain.shape(), p.model.shape());
    }
    const t type = any_float(random);
    p.chain.set_type(type);
    p.model.set_type(type);
    EXPECT_EQ(p.chain.type(), type);
    EXPECT_EQ(p.chain.operand_count(), p.model.operands().size());
    const dims_t strides = any_strides(p.model.shape(), random);
    problem_t problem;
    const result_t finished = p.chain.finish(strides, problem);
    ++(finished.ok() ? tally.finished : tally.unfinished);
    if (finished.ok())
        EXPECT_EQ(p.model.difference(problem, strides), "")
                << to_string(problem);
    else expect_reason(finished);
}

TEST(chain_property, equals_plain_numbers) {
    tally_t tally;
    const uint64_t count = 20000 / static_cast<uint64_t>(support::every());
    for (uint64_t n = 0; n < count; ++n) {
        const uint64_t seed = support::first_seed() + n;
        SCOPED_TRACE("DNNL_DEQUANT_TEST_SEED=" + std::to_string(seed));
        random_t random(seed);
        check_chain(random, tally);
        if (HasFailure()) return;
    }
    std::cout << tally.accepted << " steps taken and " << tally.refused
              << " refused; " << tally.finished << " chains finished and "
              << tally.unfinished << " not\n";
    EXPECT_GT(tally.accepted, 4 * tally.refused);
    EXPECT_GT(tally.refused, 0);
    EXPECT_GT(tally.finished, 10 * tally.unfinished);
    EXPECT_GT(tally.unfinished, 0);
}

// --- what is taken

chain_t chain_of(const dims_t &shape) {
    chain_t chain;
    chain.begin(t::u8, shape, support::dense_strides(shape));
    return chain;
}

// Of scales in groups of `group` along the last dimension of two.
chain_t::view_t scales_in(const dims_t &shape, dim_t group) {
    const dim_t groups = (shape[1] + group - 1) / group;
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
    EXPECT_FALSE(chain.holds());
    EXPECT_TRUE(chain.add(other).ok());
    EXPECT_TRUE(chain.holds());
    chain.set_type(t::f32);
    EXPECT_EQ(problem_text(chain),
            "3;src:u8:1;arg1:f32:0;arg2:u8:1;arg3:f32:0;dst:f32:1;mul:arg1;"
            "hold:arg2;mul:arg3;add_held");
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
    EXPECT_FALSE(chain.holds());
}

} // namespace
} // namespace dnnl_dequant
