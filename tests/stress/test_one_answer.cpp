// The same bits whatever the number of threads.

#include <gtest/gtest.h>

#include <omp.h>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

using namespace e2e;

// Large enough for sixteen threads of 64 KiB each, its sizes odd.
std::vector<dequantize_case_t> cases() {
    const dims_t dims {37, 1031, 11};
    const auto dense = [&](data_type_t src, data_type_t dst) {
        auto c = dense_case(dims, src, dst, src);
        c.values = support::values_t::extreme;
        return c;
    };
    std::vector<dequantize_case_t> all {
            dense(data_type_t::s8, data_type_t::f32),
            per_channel(dense(data_type_t::u8, data_type_t::bf16), 1),
            per_group(dense(data_type_t::u4, data_type_t::f32), {1, 32, 1}),
            per_group(dense(data_type_t::s4, data_type_t::f16), {1, 1, 4}),
    };
    auto transposed = per_channel(dense(data_type_t::u4, data_type_t::f32), 2);
    transposed.src.strides = support::permuted_strides(dims, {0, 2, 1});
    all.push_back(transposed);
    return all;
}

class thread_count_scope_t {
public:
    explicit thread_count_scope_t(int count)
        : before_(omp_get_max_threads()) {
        omp_set_num_threads(count);
    }
    ~thread_count_scope_t() { omp_set_num_threads(before_); }
    thread_count_scope_t(const thread_count_scope_t &) = delete;
    thread_count_scope_t &operator=(const thread_count_scope_t &) = delete;

private:
    const int before_;
};

TEST(stress_one_answer, for_1_2_3_7_and_16_threads) {
    // check_case() compares every bit with a reference that knows no threads.
    for (const auto &c : cases())
        for (const int count : {1, 2, 3, 7, 16}) {
            const thread_count_scope_t threads(count);
            EXPECT_EQ(check_case(c), "")
                    << to_string(c) << ", " << count << " threads";
        }
}

TEST(stress_one_answer, compiled_for_some_threads_and_executed_by_others) {
    for (const auto &c : cases()) {
        const auto compiled = partition_of(op_of(c)).compile(
                inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
        for (const int count : {16, 3, 1}) {
            const thread_count_scope_t threads(count);
            EXPECT_EQ(check_execution(c, compiled), "")
                    << to_string(c) << ", " << count << " threads";
        }
    }
}

TEST(stress_one_answer, inside_a_parallel_region_of_the_program) {
    const auto c = cases()[2];
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    std::string wrong[3];
#pragma omp parallel for num_threads(3)
    for (int t = 0; t < 3; ++t)
        wrong[t] = check_execution(c, compiled);
    for (const auto &text : wrong)
        EXPECT_EQ(text, "");
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant
