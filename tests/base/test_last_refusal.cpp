// Sentences about refused calls: each thread's own, told once.

#include "base/last_refusal.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dnnl_dequant {
namespace {

std::string taken() {
    char text[512];
    const size_t length = take_refusal(text, sizeof(text));
    EXPECT_EQ(text[length], '\0');
    return text;
}

TEST(last_refusal, is_told_once) {
    EXPECT_EQ(taken(), "");
    keep_refusal("first");
    keep_refusal("second");
    EXPECT_EQ(taken(), "second");
    EXPECT_EQ(taken(), "");
}

TEST(last_refusal, belongs_to_its_thread) {
    keep_refusal("mine");
    std::thread([] {
        EXPECT_EQ(taken(), "");
        keep_refusal("another's");
    }).join();
    EXPECT_EQ(taken(), "mine");
}

TEST(last_refusal, is_cut_to_what_there_is_room_for) {
    keep_refusal(std::string(1000, 'x'));
    EXPECT_EQ(taken(), std::string(511, 'x'));
    keep_refusal("a sentence");
    char few[5];
    EXPECT_EQ(take_refusal(few, sizeof(few)), 10u);
    EXPECT_STREQ(few, "a se");
    keep_refusal("a sentence");
    EXPECT_EQ(take_refusal(nullptr, 0), 10u);
}

// More threads than there is room for: the oldest sentences are gone.
TEST(last_refusal, is_kept_of_many_threads_at_once) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 100; ++t)
        threads.emplace_back([t] {
            const std::string sentence = "thread " + std::to_string(t);
            for (int n = 0; n < 100; ++n) {
                keep_refusal(sentence);
                const std::string found = taken();
                EXPECT_TRUE(found == sentence || found.empty()) << found;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

} // namespace
} // namespace dnnl_dequant
