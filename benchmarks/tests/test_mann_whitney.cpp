// mann_whitney_p against counts made by hand.

#include "compare/mann_whitney.hpp"

#include <gtest/gtest.h>

using namespace dnnl_dequant::bench;

namespace {

TEST(MannWhitney, complete_separation_is_one_order_of_all) {
    // 5 of 10 can be chosen in 252 ways; two of them are that far apart.
    const double p = mann_whitney_p({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10});
    EXPECT_NEAR(p, 2. / 252, 1e-12);
    EXPECT_NEAR(mann_whitney_p({6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}), p, 1e-12);
}

TEST(MannWhitney, counts_the_orders_up_to_u) {
    // U = 2 of 3 x 4: one order each for 0 and 1, two for 2, of 35.
    EXPECT_NEAR(mann_whitney_p({1, 2, 5}, {3, 4, 6, 7}), 2 * 4. / 35, 1e-12);
}

TEST(MannWhitney, the_same_is_no_difference) {
    EXPECT_EQ(mann_whitney_p({1, 2, 3, 4}, {1, 2, 3, 4}), 1);
    EXPECT_EQ(mann_whitney_p({7, 7, 7}, {7, 7, 7}), 1);
    EXPECT_EQ(mann_whitney_p({}, {1, 2}), 1);
}

TEST(MannWhitney, the_approximation_meets_the_exact_count) {
    std::vector<double> a, b;
    for (int i = 0; i < 50; i++) {
        a.push_back(i);
        b.push_back(i + 9.5);
    }
    const double exact = mann_whitney_p(a, b);
    b.push_back(33.2); // 51 values: approximated
    EXPECT_NEAR(mann_whitney_p(a, b) / exact, 1, 0.25);
    EXPECT_LT(exact, 0.02);
}

TEST(MannWhitney, ties_are_approximated) {
    const double p = mann_whitney_p({1, 1, 2, 2, 3, 3}, {3, 4, 4, 5, 5, 6});
    EXPECT_LT(p, 0.01);
    EXPECT_GT(p, 0.002);
}

TEST(Holm, multiplies_by_what_is_left) {
    const auto p = holm_adjusted({0.01, 0.04, 0.03});
    EXPECT_NEAR(p[0], 0.03, 1e-12);
    EXPECT_NEAR(p[2], 0.06, 1e-12);
    EXPECT_NEAR(p[1], 0.06, 1e-12); // never less than one before it
}

} // namespace
