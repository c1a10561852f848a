// Sixty-four threads that compile and execute, while settings change and
// engines, streams and threads come and go.

#include <gtest/gtest.h>

#include <thread>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"
#include "stress/together.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

using namespace e2e;
using support::random_t;

constexpr int thread_count = 64;
constexpr int rounds = 8;

// Only ours: a short last group. `which` tells partitions apart.
dequantize_case_t grouped(dim_t which) {
    return per_group(dense_case({3, 20 + which}, data_type_t::u4,
                             data_type_t::f32, data_type_t::u4),
            {1, 8});
}

// oneDNN takes it as well, with the same results.
dequantize_case_t also_stock(dim_t which) {
    auto c = dense_case({4, 16 + which}, data_type_t::s8, data_type_t::f32);
    c.values = support::values_t::ordinary;
    return c;
}

compiled_partition compiled_of(const dequantize_case_t &c) {
    return compile_or_throw(
            partition_of(op_of(c)), inputs_of(c), {strided(dst_id, c.dst)});
}

class capacity_scope_t {
public:
    capacity_scope_t() {
        dnnl_graph_get_compiled_partition_cache_capacity(&capacity_);
    }
    ~capacity_scope_t() {
        dnnl_graph_set_compiled_partition_cache_capacity(capacity_);
    }
    capacity_scope_t(const capacity_scope_t &) = delete;
    capacity_scope_t &operator=(const capacity_scope_t &) = delete;

private:
    int capacity_ = 0;
};

// A compile and an execution on an engine and a stream of its own.
std::string check_on_own_engine(const dequantize_case_t &c) {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {strided(dst_id, c.dst)}, engine);
    std::vector<char> src(c.src.bytes()), scales(c.scales.bytes()),
            zps(c.zps.present() ? c.zps.bytes() : 0), dst(c.dst.bytes()),
            expected(c.dst.bytes());
    support::fill(c, src.data(), scales.data(), zps.data());
    support::reference(
            c, src.data(), scales.data(), zps.data(), expected.data());
    std::vector<tensor> inputs {{strided(src_id, c.src), engine, src.data()},
            {strided(scales_id, c.scales), engine, scales.data()}};
    if (c.zps.present())
        inputs.emplace_back(strided(zps_id, c.zps), engine, zps.data());
    compiled.execute(
            stream, inputs, {{strided(dst_id, c.dst), engine, dst.data()}});
    stream.wait();
    return support::difference(
            c.dst.type, expected.data(), dst.data(), c.dst.span());
}

TEST(stress_threads, compile_and_execute_the_same_and_different_partitions) {
    const auto shared = partition_of(op_of(grouped(0)));
    const auto compiled = compiled_of(grouped(0));
    EXPECT_EQ(together(thread_count,
                      [&](int t) -> std::string {
        random_t random(static_cast<uint64_t>(t));
        for (int n = 0; n < rounds; ++n) {
            std::string wrong = check_execution(grouped(0), compiled);
            if (wrong.empty())
                wrong = check_execution(
                        grouped(0), shared.compile(inputs_of(grouped(0)),
                                            {strided(dst_id, grouped(0).dst)},
                                            cpu_engine()));
            if (wrong.empty())
                wrong = check_case(grouped(random.between(0, 99)));
            if (!wrong.empty()) return wrong;
        }
        return "";
    }),
            "");
}

TEST(stress_threads, cache_capacity_changes_meanwhile) {
    const capacity_scope_t restored;
    EXPECT_EQ(together(thread_count,
                      [](int t) -> std::string {
        constexpr int capacities[] = {1024, 1, 0};
        for (int n = 0; n < rounds; ++n) {
            if (t % 8 == 0)
                dnnl_graph_set_compiled_partition_cache_capacity(
                        capacities[(n + t / 8) % 3]);
            const std::string wrong = check_case(grouped((n + t) % 9));
            if (!wrong.empty()) return wrong;
        }
        return "";
    }),
            "");
}

TEST(stress_threads, plugin_is_switched_off_and_on_meanwhile) {
    // Made before, so that it stays ours whatever the switch says.
    const auto ours = partition_of(op_of(grouped(0)));
    EXPECT_EQ(together(thread_count,
                      [&](int t) -> std::string {
        for (int n = 0; n < rounds; ++n) {
            if (t % 16 == 0) set_plugin_enabled(n % 2 != 0);
            const auto c = also_stock((n + t) % 9);
            std::string wrong = check_execution(c, compiled_of(c));
            if (wrong.empty())
                wrong = check_execution(
                        grouped(0), ours.compile(inputs_of(grouped(0)),
                                            {strided(dst_id, grouped(0).dst)},
                                            cpu_engine()));
            if (!wrong.empty()) return wrong;
        }
        return "";
    }),
            "");
    set_plugin_enabled(true);
    EXPECT_EQ(check_case(grouped(0)), "");
}

TEST(stress_threads, engines_and_streams_come_and_go) {
    EXPECT_EQ(together(thread_count,
                      [](int t) -> std::string {
        for (int n = 0; n < rounds; ++n) {
            const std::string wrong = check_on_own_engine(
                    (n + t) % 2 ? grouped((n + t) % 9) : also_stock(n));
            if (!wrong.empty()) return wrong;
        }
        return "";
    }),
            "");
}

TEST(stress_threads, end_while_others_run) {
    const auto compiled = compiled_of(grouped(3));
    EXPECT_EQ(together(thread_count / 2,
                      [&](int t) -> std::string {
        std::string wrong;
        for (int n = 0; n < rounds && wrong.empty(); ++n)
            // The first and last of a short life is an execution.
            std::thread([&] {
                wrong = check_execution(grouped(3), compiled);
                if (wrong.empty()) wrong = check_case(grouped((t + n) % 5));
            }).join();
        return wrong;
    }),
            "");
}

TEST(stress_threads, hand_what_they_made_to_others) {
    for (int n = 0; n < rounds; ++n) {
        std::vector<compiled_partition> made(thread_count);
        EXPECT_EQ(together(thread_count,
                          [&](int t) -> std::string {
            made[static_cast<size_t>(t)] = compiled_of(grouped(t % 7));
            return "";
        }),
                "");
        EXPECT_EQ(together(thread_count,
                          [&](int t) -> std::string {
            // Used and destroyed by another thread than the maker.
            const int other = (t + 1) % thread_count;
            auto mine = std::move(made[static_cast<size_t>(other)]);
            return check_execution(grouped(other % 7), mine);
        }),
                "");
    }
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant
