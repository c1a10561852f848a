#include <gtest/gtest.h>

#include "peak.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {
namespace {

constexpr double fastest_clock = 7e9; // of any CPU

class peak_test_t : public testing::TestWithParam<peak_kind_t> {};

// Counted wrongly, or the loop dropped by the compiler, the figure would be
// more than the ports of any CPU do, or next to nothing.
TEST_P(peak_test_t, is_what_a_core_can_do) {
    const peak_loop_t loop(GetParam(), 1);
    if (!loop.is_there()) return; // says so, and that is all it has to
    loop.run();
    const double a_second
            = loop.operations() / seconds_of([&] { loop.run(); }, true);
    const double lanes = GetParam() == peak_kind_t::fma ? 16 : 64;
    EXPECT_LT(a_second, 2 * 2 * lanes * fastest_clock);
    EXPECT_GT(a_second, 2e8);
}

TEST_P(peak_test_t, counts_every_thread) {
    EXPECT_EQ(peak_loop_t(GetParam(), 2).operations(),
            2 * peak_loop_t(GetParam(), 1).operations());
}

INSTANTIATE_TEST_SUITE_P(kinds, peak_test_t,
        testing::Values(peak_kind_t::fma, peak_kind_t::vnni),
        [](const auto &param) { return std::string(to_string(param.param)); });

} // namespace
} // namespace bench
} // namespace dnnl_dequant
