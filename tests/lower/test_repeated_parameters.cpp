// Scales and zero points that repeat along the columns, such as those of
// filters in groups of input channels: one for each pixel of a filter.

#include <gtest/gtest.h>

#include "lower/lower.hpp"
#include "short_rows.hpp"

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

} // namespace
} // namespace dnnl_dequant
