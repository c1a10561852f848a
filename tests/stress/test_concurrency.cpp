// Many threads at once, on shared handles and on their own.

#include <gtest/gtest.h>

#include <cstring>

#include "e2e/attention_graph.hpp"
#include "e2e/constant_product.hpp"
#include "e2e/dequantize_graph.hpp"
#include "e2e/gated_mlp.hpp"
#include "e2e/plugin.hpp"
#include "stress/together.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

using namespace e2e;

constexpr int threads = 6;
constexpr int rounds = 30;

dequantize_case_t grouped(dim_t columns) {
    return per_group(dense_case({7, columns}, data_type_t::u4, data_type_t::f32,
                             data_type_t::u4),
            {1, 16});
}

TEST(stress_concurrency, one_compiled_partition_many_threads) {
    // Large enough that each execution has threads of its own.
    for (const dim_t columns : {dim_t {100}, dim_t {20000}}) {
        const auto c = grouped(columns);
        const auto compiled = partition_of(op_of(c)).compile(
                inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
        const std::string wrong = together(threads, [&](int t) -> std::string {
            auto mine = c;
            mine.seed = static_cast<uint64_t>(t);
            for (int n = 0; n < 10; ++n) {
                const std::string one = check_execution(mine, compiled);
                if (!one.empty()) return one;
            }
            return "";
        });
        EXPECT_EQ(wrong, "");
    }
}

TEST(stress_concurrency, one_partition_compiled_by_many_threads) {
    for (int n = 0; n < rounds; ++n) {
        const auto c = grouped(50 + n); // not compiled before
        auto p = partition_of(op_of(c));
        const std::string wrong = together(threads, [&](int) {
            const auto compiled = p.compile(
                    inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
            return check_execution(c, compiled);
        });
        EXPECT_EQ(wrong, "");
    }
}

TEST(stress_concurrency, every_thread_its_own_graphs) {
    const std::string wrong = together(threads, [](int t) -> std::string {
        for (int n = 0; n < rounds; ++n) {
            auto c = grouped(20 + (n + t) % 40);
            c.seed = static_cast<uint64_t>(n);
            const std::string one = check_case(c);
            if (!one.empty()) return one;
        }
        return "";
    });
    EXPECT_EQ(wrong, "");
}

TEST(stress_concurrency, the_cache_is_resized_meanwhile) {
    int capacity = 0;
    ASSERT_EQ(dnnl_graph_get_compiled_partition_cache_capacity(&capacity),
            dnnl_success);
    const std::string wrong = together(threads, [](int t) -> std::string {
        for (int n = 0; n < rounds; ++n) {
            if (t == 0)
                dnnl_graph_set_compiled_partition_cache_capacity(n % 3 * 4);
            const std::string one = check_case(grouped(20 + n % 9));
            if (!one.empty()) return one;
        }
        return "";
    });
    EXPECT_EQ(wrong, "");
    dnnl_graph_set_compiled_partition_cache_capacity(capacity);
}

// A few rows by tokens that are split, and as many rows as fill a block; each
// execution has threads of its own.
TEST(stress_concurrency, attention_of_many_threads) {
    const std::string wrong = together(threads, [](int t) -> std::string {
        for (int n = 0; n < 10; ++n) {
            attention_case_t c = plain_attention();
            c.keys.type = c.values.type = data_type_t::s8;
            c.keys.scales = c.values.scales = data_type_t::f32;
            c.keys.granularity = c.values.granularity = granularity_t::token;
            c.rows = (n + t) % 3 == 0 ? 40 : 1 + n % 5;
            c.tokens = n % 2 == 0 ? 1100 : 60;
            c.head = c.cols = 64;
            c.addend = extent_t::tokens;
            c.seed = static_cast<uint64_t>(n + 1);
            const std::string one = check(c);
            if (!one.empty()) return to_string(c) + ": " + one;
        }
        return "";
    });
    EXPECT_EQ(wrong, "");
}

// Each execution has memory of its own for what lies between the parts.
TEST(stress_concurrency, one_compound_many_threads) {
    const chain_graph_t g = graph_of(gated_mlp_t());
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    const auto partitions = built.get_partitions();
    ASSERT_EQ(partitions.size(), 1u);
    const chain_values_t expected = gated_values(g);
    run(g, partitions[0], expected);
    const std::string wrong = together(threads, [&](int) -> std::string {
        for (int n = 0; n < 10; ++n) {
            const chain_values_t values = gated_values(g);
            run(g, partitions[0], values);
            if (std::memcmp(values.back().data(), expected.back().data(),
                        values.back().size())
                    != 0)
                return "another result";
        }
        return "";
    });
    EXPECT_EQ(wrong, "");
}

// Threads meet while constant weights are repacked, kept and dropped.
TEST(stress_concurrency, constant_weights_are_kept_and_dropped_meanwhile) {
    matmul_case_t c;
    c.src = {3, 512};
    c.weights = {512, 320};
    c.group = 128;
    const quantized_src_t source {
            data_type_t::u8, support::qtype_t::per_tensor, 0, true, false};
    const std::string expected
            = constant_product_t(c, source, property_t::undef).run();
    const constant_capacity_t on(8);
    const constant_product_t shared(c, source);
    const std::string wrong = together(threads, [&](int t) -> std::string {
        for (int n = 0; n < rounds; ++n) {
            if (t == 0 && n % 3 == 0)
                set_constant_capacity(static_cast<size_t>(n) / 3 % 3);
            if (shared.run() != expected) return "shared: wrong";
            if (t % 3 != 1) continue;
            const constant_product_t own(c, source);
            if (own.run() != expected || own.run() != expected)
                return "its own: wrong";
        }
        return "";
    });
    EXPECT_EQ(wrong, "");
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant
