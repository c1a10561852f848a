// The canonical nest visits exactly what plain iteration over the dimensions
// visits, whatever the dimensions, groups and strides.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "problem/make_problem.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using support::random_t;
using visit_t = std::array<dim_t, 4>; // src, zps, scales, dst element
using visits_t = std::vector<visit_t>;

struct setting_t {
    dims_t dims, groups;
    std::vector<tensor_view_t> views;
};

dims_t random_order_strides(const dims_t &dims, random_t &random) {
    std::vector<size_t> order;
    for (size_t d = 0; d < dims.size(); ++d)
        order.insert(
                order.begin()
                        + random.between(0, static_cast<dim_t>(order.size())),
                d);
    dims_t strides = support::permuted_strides(dims, order);
    // Room between elements, or between what one dimension spans.
    const dim_t factor = random.between(1, 2);
    const dim_t threshold = random.between(0, 20);
    for (auto &stride : strides)
        if (stride > threshold) stride *= factor;
    return strides;
}

dims_t group_counts(const setting_t &s) {
    dims_t counts;
    for (size_t d = 0; d < s.dims.size(); ++d)
        counts.push_back((s.dims[d] + s.groups[d] - 1) / s.groups[d]);
    return counts;
}

dims_t group_strides(const setting_t &s, random_t &random) {
    dims_t strides = random.one_in(2)
                             ? support::dense_strides(group_counts(s))
                             : random_order_strides(group_counts(s), random);
    for (auto &stride : strides)
        if (random.one_in(5)) stride = 0;
    return strides;
}

setting_t random_setting(random_t &random) {
    setting_t s;
    const dim_t rank = random.between(0, 6);
    for (dim_t d = 0; d < rank; ++d) {
        s.dims.push_back(random.between(1, rank > 4 ? 4 : 9));
        s.groups.push_back(random.between(1, s.dims.back()));
        if (random.one_in(3)) s.groups.back() = s.dims.back();
        if (random.one_in(3)) s.groups.back() = 1;
    }
    const auto plain = [&] {
        return random.one_in(2) ? support::dense_strides(s.dims)
                                : random_order_strides(s.dims, random);
    };
    s.views = {{data_type_t::u8, plain(), false},
            {data_type_t::s8, group_strides(s, random), true},
            {data_type_t::f32, group_strides(s, random), true},
            {data_type_t::f32, plain(), false}};
    return s;
}

void visit_dims(const setting_t &s, size_t d, const visit_t &at, visits_t &to) {
    if (d == s.dims.size()) {
        to.push_back(at);
        return;
    }
    for (dim_t i = 0; i < s.dims[d]; ++i) {
        visit_t inner = at;
        for (size_t v = 0; v < s.views.size(); ++v)
            inner[v] += (s.views[v].grouped ? i / s.groups[d] : i)
                        * s.views[v].strides[d];
        visit_dims(s, d + 1, inner, to);
    }
}

void visit_nest(const problem_t &p, size_t l, dims_t index, const visit_t &at,
        visits_t &to) {
    if (l == p.loops.size()) {
        to.push_back(at);
        return;
    }
    dim_t extent = p.loops[l].extent;
    if (p.loops[l].parent >= 0) {
        const auto parent = static_cast<size_t>(p.loops[l].parent);
        if (index[parent] == p.loops[parent].extent - 1)
            extent = p.loops[l].last_extent;
    }
    index.push_back(0);
    for (; index[l] < extent; ++index[l]) {
        visit_t inner = at;
        for (size_t o = 0; o < p.operands.size(); ++o)
            inner[o] += index[l] * p.operands[o].strides[l];
        visit_nest(p, l + 1, index, inner, to);
    }
}

void expect_invariants(const problem_t &p) {
    for (size_t l = 0; l < p.loops.size(); ++l) {
        EXPECT_GT(p.loops[l].extent, 1);
        EXPECT_LT(p.loops[l].parent, static_cast<int>(l));
        if (l > 0) {
            EXPECT_GT(p.dst().strides[l - 1], p.dst().strides[l]);
        }
        if (p.loops[l].parent >= 0) {
            EXPECT_GE(p.loops[l].last_extent, 1);
            EXPECT_LT(p.loops[l].last_extent, p.loops[l].extent);
        }
    }
}

TEST(make_problem_property, visits_what_plain_iteration_visits) {
    for (uint64_t n = 0; n < 20000; ++n) {
        const uint64_t seed = support::first_seed() + n;
        random_t random(seed);
        const setting_t s = random_setting(random);
        const problem_t p = make_problem(s.dims, s.groups, s.views,
                {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}});
        SCOPED_TRACE("DNNL_DEQUANT_TEST_SEED=" + std::to_string(seed) + ' '
                     + to_string(p));
        visits_t expected, got;
        visit_dims(s, 0, {}, expected);
        visit_nest(p, 0, {}, {}, got);
        EXPECT_EQ(element_count(p), static_cast<dim_t>(got.size()));
        std::sort(expected.begin(), expected.end());
        std::sort(got.begin(), got.end());
        EXPECT_TRUE(expected == got);
        expect_invariants(p);
        if (HasFailure()) return;
    }
}

} // namespace
} // namespace dnnl_dequant
