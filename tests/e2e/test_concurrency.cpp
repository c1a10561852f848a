// Many threads at once, on shared handles and on their own.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

constexpr int threads = 6;
constexpr int rounds = 30;

// Runs body(thread) on several threads that start together. The first text
// that is not empty is the result.
std::string together(const std::function<std::string(int)> &body) {
    std::atomic<int> waiting {threads};
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            --waiting;
            while (waiting > 0)
                std::this_thread::yield();
            const std::string mine = body(t);
            const std::lock_guard<std::mutex> lock(mutex);
            if (wrong.empty()) wrong = mine;
        });
    for (auto &thread : running)
        thread.join();
    return wrong;
}

dequantize_case_t grouped(dim_t columns) {
    return per_group(dense_case({7, columns}, data_type_t::u4, data_type_t::f32,
                             data_type_t::u4),
            {1, 16});
}

TEST(concurrency, one_compiled_partition_many_threads) {
    // Large enough that each execution has threads of its own.
    for (const dim_t columns : {dim_t {100}, dim_t {20000}}) {
        const auto c = grouped(columns);
        const auto compiled = partition_of(op_of(c)).compile(
                inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
        EXPECT_EQ(together([&](int t) -> std::string {
            auto mine = c;
            mine.seed = static_cast<uint64_t>(t);
            for (int n = 0; n < 10; ++n) {
                const std::string wrong = check_execution(mine, compiled);
                if (!wrong.empty()) return wrong;
            }
            return "";
        }),
                "");
    }
}

TEST(concurrency, one_partition_compiled_by_many_threads) {
    for (int n = 0; n < rounds; ++n) {
        const auto c = grouped(50 + n); // not compiled before
        auto p = partition_of(op_of(c));
        EXPECT_EQ(together([&](int) {
            const auto compiled = p.compile(
                    inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
            return check_execution(c, compiled);
        }),
                "");
    }
}

TEST(concurrency, every_thread_its_own_graphs) {
    EXPECT_EQ(together([](int t) -> std::string {
        for (int n = 0; n < rounds; ++n) {
            auto c = grouped(20 + (n + t) % 40);
            c.seed = static_cast<uint64_t>(n);
            const std::string wrong = check_case(c);
            if (!wrong.empty()) return wrong;
        }
        return "";
    }),
            "");
}

TEST(concurrency, the_cache_is_resized_meanwhile) {
    int capacity = 0;
    ASSERT_EQ(dnnl_graph_get_compiled_partition_cache_capacity(&capacity),
            dnnl_success);
    EXPECT_EQ(together([](int t) -> std::string {
        for (int n = 0; n < rounds; ++n) {
            if (t == 0)
                dnnl_graph_set_compiled_partition_cache_capacity(n % 3 * 4);
            const std::string wrong = check_case(grouped(20 + n % 9));
            if (!wrong.empty()) return wrong;
        }
        return "";
    }),
            "");
    dnnl_graph_set_compiled_partition_cache_capacity(capacity);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
