// Chains of any steps compute what the same ops do to plain numbers.

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

// A chain and what it has to be equal to.
struct pair_t {
    chain_t chain;
    chain_model_t model;

    explicit pair_t(random_t &random)
        : model(random) {}
};

struct tally_t {
    int accepted = 0, refused = 0, finished = 0, unfinished = 0, halved = 0;
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

dims_t any_strides(const dims_t &shape, random_t &random) {
    if (random.one_in(3)) return support::dense_strides(shape);
    if (random.one_in(4))
        return support::padded_strides(shape, random.between(1, 3));
    return support::permuted_strides(
            shape, support::any_order(random, shape.size()));
}

std::vector<dim_t> factors_of(const dims_t &shape) {
    std::vector<dim_t> factors;
    for (dim_t dim : shape)
        for (dim_t prime = 2; dim > 1; ++prime)
            for (; dim % prime == 0; dim /= prime)
                factors.push_back(prime);
    return factors;
}

// Returns as many elements in other dimensions; mostly those with few cuts.
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
        counts[d] = div_up(extent, group);
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
        const auto order = support::any_order(random, shape.size());
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
        const auto order = support::any_order(random, p.model.shape().size());
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

// A value that is put aside does not go from one half to the other.
bool can_be_cut(const chain_t &chain, size_t steps) {
    int aside = 0;
    for (size_t i = 0; i < steps; ++i) {
        const step_kind_t kind = chain.steps()[i].kind;
        aside += kind == step_kind_t::push;
        aside -= kind == step_kind_t::pop_add;
    }
    return aside == 0;
}

// Cuts the chain in two, and computes one half after the other.
void check_halves(const pair_t &p, const dims_t &strides, random_t &random,
        tally_t &tally) {
    const auto count = static_cast<dim_t>(p.chain.steps().size());
    const auto steps = static_cast<size_t>(random.between(0, count));
    if (!can_be_cut(p.chain, steps)) return;
    const chain_t first = p.chain.after(steps);
    chain_t rest = p.chain.from(steps);
    const dims_t dense = support::dense_strides(p.model.shape());
    rest.lay_first(dense);
    problem_t of_first, of_rest;
    if (!first.finish(dense, of_first).ok()
            || !rest.finish(strides, of_rest).ok())
        return;
    ++tally.halved;
    EXPECT_EQ(p.model.difference(of_first, first.operand_count(), first.type(),
                      of_rest, strides),
            "")
            << to_string(of_first) << " and " << to_string(of_rest);
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
    if (finished.ok()) check_halves(p, strides, random, tally);
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
    EXPECT_GT(tally.halved, tally.finished / 2);
    // A sample may have none.
    EXPECT_GE(tally.unfinished, support::every() > 1 ? 0 : 1);
}

} // namespace
} // namespace dnnl_dequant
