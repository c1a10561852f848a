// Rows of few elements: those that are joined, and planes that become points or
// come from them. Bits are those of the plain C++ kernels.

#include <gtest/gtest.h>

#include "kernels/problem_case.hpp"
#include "lower/joined_rows.hpp"
#include "lower/planes.hpp"

namespace dnnl_dequant {
namespace {

TEST(joined_rows, are_the_plain_rows) {
    // Some rows are left, or all are one.
    constexpr dim_t counts[] = {2, 9, 341, 342, 343, 1000, 3001};
    for (const dim_t row : {2, 3, 5, 16, 100, 128})
        for_types({t::u8, t::s4, t::u2},
                [&](t src, t dst, const parameters_t &parameters) {
            for (const dim_t rows : counts) {
                if (rows * row > 20000) continue;
                check(problem_of({rows, row}, {src, {row, 1}},
                              {parameters.scales, {0, 1}},
                              {parameters.zps, {0, 1}}, {dst, {row, 1}}),
                        make_joined_rows);
                if (testing::Test::HasFailure()) return;
            }
        });
}

TEST(joined_rows, have_loops_around_them) {
    for_types({t::s8, t::u4}, [](t src, t dst, const parameters_t &parameters) {
        check(problem_of({3, 400, 3}, {src, {1300, 3, 1}},
                      {parameters.scales, {0, 0, 2}},
                      {parameters.zps, {0, 0, 0}}, {dst, {1204, 3, 1}}),
                make_joined_rows);
    });
}

// src / scales to nibbles, of which two rows may share a byte.
problem_t quantize_problem_of(const dims_t &extents, t src, t dst,
        const dims_t &scales, const dims_t &strides) {
    problem_t problem;
    for (const dim_t extent : extents)
        problem.loops.push_back({extent});
    problem.operands
            = {{src, 0, strides}, {t::f32, 0, scales}, {dst, 0, strides}};
    problem.steps.resize(2);
    problem.steps[0].kind = step_kind_t::divide;
    problem.steps[0].operand = 1;
    problem.steps[1].kind = step_kind_t::saturate;
    problem.steps[1].upper = dst == t::u4 ? 15 : 7;
    problem.steps[1].lower = dst == t::u4 ? 0 : -8;
    return problem;
}

void check_quantize(const problem_t &problem) {
    std::shared_ptr<const kernel_t> plain;
    ASSERT_TRUE(make_ref_elementwise(problem, isa_none, plain).ok());
    for (const isa_t isa : {isa_none, isa_avx2, isa_avx512_core}) {
        if (!has(support::isa_of_machine(), isa)) continue;
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = make_joined_rows(problem, isa, kernel);
        ASSERT_TRUE(made.ok()) << made.reason << " " << to_string(problem);
        expect_equal(problem, *kernel, *plain);
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(joined_rows, become_nibbles) {
    for (const t dst : {t::u4, t::s4})
        for (const t src : {t::f32, t::bf16})
            for (const dim_t row : {2, 3, 5, 9, 16, 33, 127})
                for (const dim_t rows : {2, 9, 63, 64, 65, 129, 342, 1001}) {
                    check_quantize(quantize_problem_of(
                            {rows, row}, src, dst, {0, 1}, {row, 1}));
                    if (HasFailure()) return;
                }
    // Loops around them, which begin with bytes or are whole.
    check_quantize(quantize_problem_of(
            {3, 4000, 3}, t::f32, t::u4, {0, 0, 1}, {12004, 3, 1}));
    check_quantize(quantize_problem_of(
            {3, 43, 3}, t::f32, t::u4, {0, 0, 1}, {131, 3, 1}));
}

TEST(joined_rows, are_refused_where_rows_differ) {
    const std::vector<problem_t> problems {
            // Long rows; rows with gaps; scales of each row; a transposed src.
            problem_of({9, 129}, {t::u8, {129, 1}}, {t::f32, {0, 1}},
                    {t::undef, {}}, {t::f32, {129, 1}}),
            problem_of({9, 3}, {t::u8, {4, 1}}, {t::f32, {0, 1}},
                    {t::undef, {}}, {t::f32, {3, 1}}),
            problem_of({9, 3}, {t::u8, {3, 1}}, {t::f32, {1, 0}},
                    {t::u8, {3, 1}}, {t::f32, {4, 1}}),
            problem_of({9, 3}, {t::u8, {1, 9}}, {t::f32, {0, 1}},
                    {t::undef, {}}, {t::f32, {3, 1}}),
            problem_of({9}, {t::u8, {1}}, {t::f32, {0}}, {t::undef, {}},
                    {t::f32, {1}}),
            // One scale for all; units that could share a byte of dst.
            problem_of({9, 3}, {t::u8, {3, 1}}, {t::f32, {0, 0}},
                    {t::undef, {}}, {t::f32, {3, 1}}),
            quantize_problem_of(
                    {3, 4000, 3}, t::f32, t::u4, {0, 0, 1}, {12001, 3, 1})};
    expect_refused(problems, make_joined_rows);
}

// Short rows that are left behind long ones would begin within a byte.
TEST(joined_rows, are_refused_where_the_rest_shares_a_byte) {
    problem_t moved
            = quantize_problem_of({4000, 3}, t::f32, t::u4, {0, 1}, {3, 1});
    moved.operands.back().offset = 1;
    // Two parameters leave room for fewer rows, of an odd number of elements.
    problem_t odd
            = quantize_problem_of({1006, 127}, t::f32, t::u4, {0, 1}, {127, 1});
    odd.operands.insert(odd.operands.begin() + 2, odd.operands[1]);
    odd.steps.insert(odd.steps.begin() + 1, odd.steps[0]);
    odd.steps[1].operand = 2;
    const std::vector<std::pair<problem_t, std::string>> cases {
            {quantize_problem_of(
                     {3, 4000, 3}, t::f32, t::u4, {0, 0, 1}, {12001, 3, 1}),
                    "dst has an outer stride of 12001 elements of type u4; "
                    "expected whole bytes"},
            {moved, "dst has an offset of 1 elements of type u4; expected "
                    "whole bytes"},
            {odd, "dst has long rows of 127635 elements of type u4; "
                  "expected whole bytes"}};
    for (const auto &[problem, sentence] : cases) {
        std::shared_ptr<const kernel_t> kernel;
        EXPECT_EQ(make_joined_rows(problem, isa_none, kernel).reason, sentence);
    }
}

// One block of points, whole blocks, and a last one that is shorter.
constexpr dim_t point_counts[] = {129, 384, 769, 1283, 5000};

TEST(planes, become_points) {
    for (const dim_t planes : {2, 3, 4, 5, 7, 8})
        for_types({t::u8, t::s4},
                [&](t src, t dst, const parameters_t &parameters) {
            for (const dim_t points : point_counts) {
                const dim_t pitch = round_up(points, dim_t(2));
                check(problem_of({points, planes}, {src, {1, pitch}},
                              {parameters.scales, {0, 1}},
                              {parameters.zps, {0, 0}}, {dst, {planes, 1}}),
                        make_planes);
                if (testing::Test::HasFailure()) return;
            }
        });
}

TEST(planes, come_from_points) {
    for (const dim_t planes : {2, 3, 4, 6, 8})
        for_types({t::u8, t::s8, t::u16},
                [&](t src, t dst, const parameters_t &parameters) {
            for (const dim_t points : point_counts) {
                check(problem_of({planes, points}, {src, {1, planes}},
                              {parameters.scales, {1, 0}},
                              {parameters.zps, {1, 0}}, {dst, {points, 1}}),
                        make_planes);
                if (testing::Test::HasFailure()) return;
            }
        });
}

// One scale and one zero point for all; a last block of one point.
TEST(planes, share_parameters) {
    for_types({t::u8}, [](t src, t dst, const parameters_t &parameters) {
        for (const dim_t points : {129, 513, 769, 1537, 3073}) {
            check(problem_of({points, 3}, {src, {1, points}},
                          {parameters.scales, {0, 0}}, {parameters.zps, {0, 0}},
                          {dst, {3, 1}}),
                    make_planes);
            check(problem_of({3, points}, {src, {1, 3}},
                          {parameters.scales, {0, 0}}, {parameters.zps, {0, 0}},
                          {dst, {points, 1}}),
                    make_planes);
        }
    });
}

// Small images of one scale are one row to some kernels.
TEST(planes, are_chosen_for_any_number_of_points) {
    for (const dim_t points : {2, 64, 100, 128, 129, 300})
        for (const dim_t planes : {2, 3, 8}) {
            const problem_t problems[]
                    = {problem_of({points, planes}, {t::u8, {1, points}},
                               {t::f32, {0, 0}}, {t::undef, {}},
                               {t::f32, {planes, 1}}),
                            problem_of({planes, points}, {t::s8, {1, planes}},
                                    {t::f32, {0, 0}}, {t::s32, {0, 0}},
                                    {t::bf16, {points, 1}}),
                            problem_of({planes, points}, {t::s8, {points, 1}},
                                    {t::f32, {0, 0}}, {t::undef, {}},
                                    {t::f32, {points, 1}})};
            for (const problem_t &problem : problems)
                check(problem, choose_kernel);
        }
}

// Images with gaps between them, and a scale for each.
TEST(planes, have_loops_around_them) {
    for_types({t::u8}, [](t src, t dst, const parameters_t &parameters) {
        check(problem_of({3, 700, 3}, {src, {2200, 1, 701}},
                      {parameters.scales, {3, 0, 1}},
                      {parameters.zps, {2, 0, 0}}, {dst, {2100, 3, 1}}),
                make_planes);
        check(problem_of({3, 3, 700}, {src, {2200, 1, 3}},
                      {parameters.scales, {1, 0, 0}},
                      {parameters.zps, {6, 2, 0}}, {dst, {2105, 701, 1}}),
                make_planes);
    });
}

TEST(planes, are_refused_where_there_are_none) {
    const std::vector<problem_t> problems {
            // Nine planes; few points; a gap between points; nibbles as points.
            problem_of({200, 9}, {t::u8, {1, 200}}, {t::f32, {0, 1}},
                    {t::undef, {}}, {t::f32, {9, 1}}),
            problem_of({128, 3}, {t::u8, {1, 128}}, {t::f32, {0, 1}},
                    {t::undef, {}}, {t::f32, {3, 1}}),
            problem_of({200, 3}, {t::u8, {1, 200}}, {t::f32, {0, 1}},
                    {t::undef, {}}, {t::f32, {4, 1}}),
            problem_of({3, 200}, {t::u4, {1, 3}}, {t::f32, {1, 0}},
                    {t::undef, {}}, {t::f32, {200, 1}}),
            // Units could share a byte of dst.
            problem_of({3, 201}, {t::u8, {1, 3}}, {t::f32, {1, 0}},
                    {t::undef, {}}, {t::u4, {201, 1}})};
    expect_refused(problems, make_planes, {isa_none});
}

} // namespace
} // namespace dnnl_dequant
