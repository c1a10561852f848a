// A last group that is shorter than the others, by a kernel of its own. Bits
// are those of the plain C++ kernels.

#include <gtest/gtest.h>

#include "kernels/problem_case.hpp"
#include "lower/last_group.hpp"

namespace dnnl_dequant {
namespace {

// dst is dense in the order of the dimensions, src in another one. One of them
// is in groups, each of which has a scale for every index of `varying`.
struct groups_case_t {
    dims_t dims;
    std::vector<size_t> src_order;
    size_t grouped;
    dim_t group;
    size_t varying;
};

// The strides of loops: the groups' comes before the one within a group.
dims_t of_loops(const groups_case_t &c, const dims_t &strides, dim_t of_group) {
    dims_t loops = strides;
    loops.insert(
            loops.begin() + static_cast<std::ptrdiff_t>(c.grouped), of_group);
    return loops;
}

problem_t problem_in_groups(
        const groups_case_t &c, t src, t dst, const parameters_t &parameters) {
    const dim_t groups = div_up(c.dims[c.grouped], c.group);
    std::vector<size_t> order;
    for (size_t d = 0; d < c.dims.size(); ++d)
        order.push_back(d);
    const dims_t of_src = strides_of(c.dims, c.src_order),
                 of_dst = strides_of(c.dims, order);
    dims_t values(c.dims.size());
    values[c.varying] = groups;
    dims_t extents = of_loops(c, c.dims, groups);
    extents[c.grouped + 1] = c.group;
    const dims_t of_values = of_loops(c, values, 1);
    problem_t problem = problem_of(extents,
            {src, of_loops(c, of_src, of_src[c.grouped] * c.group)},
            {parameters.scales, of_values}, {parameters.zps, of_values},
            {dst, of_loops(c, of_dst, of_dst[c.grouped] * c.group)});
    loop_t &loop = problem.loops[c.grouped + 1];
    loop.parent = static_cast<int>(c.grouped);
    loop.last_extent = c.dims[c.grouped] - (groups - 1) * c.group;
    return problem;
}

const groups_case_t cases[] = {
        // The groups are outermost in dst, or in between; one group is left.
        {{37, 20, 33}, {2, 1, 0}, 0, 16, 1},
        {{37, 20, 34}, {1, 2, 0}, 0, 16, 2},
        {{30, 20, 33}, {2, 1, 0}, 0, 9, 1}, // begins within a byte of nibbles
        {{9, 37, 66}, {0, 2, 1}, 1, 8, 2},
        {{9, 37, 66}, {2, 0, 1}, 1, 32, 0},
        {{4, 100, 3, 16}, {1, 0, 3, 2}, 1, 64, 0},
        {{3, 9, 300, 2}, {0, 1, 3, 2}, 1, 8, 2},
};

TEST(last_group, is_by_itself) {
    for_types({t::u8, t::s4, t::u2, t::u16},
            [](t src, t dst, const parameters_t &parameters) {
        for (const groups_case_t &c : cases) {
            const problem_t problem
                    = problem_in_groups(c, src, dst, parameters);
            check(problem, make_last_group, isa_avx2);
            check(problem, choose_kernel);
            if (testing::Test::HasFailure()) return;
        }
    });
}

TEST(last_group, is_refused_where_another_kernel_is_better) {
    const parameters_t parameters {t::f32, t::u8};
    const auto of = [&](const groups_case_t &c, t dst = t::f32) {
        return problem_in_groups(c, t::u8, dst, parameters);
    };
    problem_t of_two = of({{4, 100, 3, 16}, {1, 0, 3, 2}, 1, 64, 0});
    of_two.loops[4].parent = 0;
    of_two.loops[4].last_extent = 3;
    const std::vector<problem_t> problems {
            // All groups are alike; the order of src, and that of its rows;
            // columns in groups; units could share a byte of dst; groups of two
            // dimensions.
            of({{32, 20, 33}, {2, 1, 0}, 0, 16, 1}),
            of({{37, 20, 33}, {0, 1, 2}, 0, 16, 1}),
            of({{37, 20, 33}, {1, 0, 2}, 0, 16, 1}),
            of({{20, 33, 37}, {2, 1, 0}, 2, 16, 1}), of(cases[0], t::u4),
            of_two};
    expect_refused(problems, make_last_group);
}

} // namespace
} // namespace dnnl_dequant
