// Scales and zero points that repeat along the columns, such as those of
// filters in groups of input channels: one for each pixel of a filter. And
// those of few groups a row, such as those of heads that are moved.

#include <gtest/gtest.h>

#include "kernels/problem_case.hpp"
#include "lower/lower.hpp"

namespace dnnl_dequant {
namespace {

TEST(repeated_parameters, are_those_of_each_period) {
    // Rows, periods, columns of a period: fewer than a vector, some vectors,
    // more than are kept.
    const dims_t shapes[] = {{3, 32, 9}, {40, 5, 25}, {2, 17, 3}, {9, 2, 49},
            {5, 3, 256}, {5, 3, 257}, {2, 40, 7}};
    for_types(
            {t::u8, t::s4}, [&](t src, t dst, const parameters_t &parameters) {
        for (const dims_t &shape : shapes) {
            const dim_t periods = shape[1], period = shape[2];
            // Rows next to each other, and rows with a gap between them.
            for (const dim_t pitch : {period, 2 * period + 1}) {
                check(problem_of(shape, {src, {periods * period, period, 1}},
                              {parameters.scales, {pitch, 0, 1}},
                              {parameters.zps, {pitch, 0, 1}},
                              {dst, {periods * period, period, 1}}),
                        choose_kernel);
                if (testing::Test::HasFailure()) return;
            }
        }
    });
}

TEST(repeated_parameters, are_those_of_few_groups_a_row) {
    // Rows, groups of a row, columns of a group.
    const dims_t shapes[] = {{5, 4, 32}, {7, 2, 32}, {9, 5, 32}, {3, 15, 32},
            {2, 16, 32}, {3, 3, 16}, {3, 5, 64}};
    for_types({t::u8, t::u4, t::s16, t::s32},
            [&](t src, t dst, const parameters_t &parameters) {
        for (const dims_t &shape : shapes) {
            const dim_t groups = shape[1], group = shape[2];
            const dim_t row = groups * group;
            // Rows that begin at a multiple of a vector of dst, and that do
            // not; with parameters of their own, and with the same ones.
            for (const dim_t gap : {32, 2})
                for (const dim_t own : {1, 0}) {
                    check(problem_of(shape, {src, {row + gap, group, 1}},
                                  {parameters.scales, {own * groups, 1, 0}},
                                  {parameters.zps, {own * (groups + 1), 1, 0}},
                                  {dst, {row + gap, group, 1}}),
                            choose_kernel);
                    if (testing::Test::HasFailure()) return;
                }
        }
    });
}

} // namespace
} // namespace dnnl_dequant
