// The list has what is slower than stock, less what the spread explains.
#include <gtest/gtest.h>

#include "slower.hpp"

namespace dnnl_dequant {
namespace bench {
namespace {

const samples_t fast {{1.0, 1.1, 1.2, 1.3}}, slow {{1.4, 1.5, 1.6, 1.7}},
        wide {{0.9, 1.2, 1.5, 1.8}}, none {};

TEST(slower, is_beyond_the_spread) {
    EXPECT_TRUE(is_slower(slow, fast));
    EXPECT_FALSE(is_slower(fast, slow));
    EXPECT_FALSE(is_slower(fast, fast));
    EXPECT_FALSE(is_slower(wide, fast));
    EXPECT_FALSE(is_slower(slow, wide));
}

TEST(slower, takes_both_sides) {
    EXPECT_FALSE(is_slower(none, fast));
    EXPECT_FALSE(is_slower(slow, none));
}

TEST(slower, lists_names_and_times) {
    slower_list_t list;
    list.compare("equal", fast, fast);
    EXPECT_EQ(list.text(), "slower than stock in this run: none\n");
    EXPECT_EQ(list.json().size(), 0u);
    list.compare("behind", slow, fast);
    list.compare("ahead", fast, slow);
    EXPECT_EQ(list.text(), "slower than stock in this run: 1\n"
                           "  behind: 1.55 s where stock takes 1.15 s\n");
    ASSERT_EQ(list.json().size(), 1u);
    EXPECT_EQ(list.json()[0]["name"], "behind");
    EXPECT_DOUBLE_EQ(list.json()[0]["ratio"], 1.55 / 1.15);
}

} // namespace
} // namespace bench
} // namespace dnnl_dequant
