// The same bits whatever the number of threads.

#include <gtest/gtest.h>

#include <omp.h>

#include "e2e/dequantize_graph.hpp"
#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "e2e/range_case.hpp"

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

// Several threads find the range of the whole, of rows and of columns.
TEST(stress_one_answer, of_ranges_for_1_2_3_7_and_16_threads) {
    for (const auto &groups :
            std::vector<dims_t> {{700, 1031}, {1, 1031}, {700, 1}})
        for (const int count : {1, 2, 3, 7, 16}) {
            const thread_count_scope_t threads(count);
            EXPECT_EQ(check(make_case({700, 1031}, groups, data_type_t::f32,
                              data_type_t::u8, false)),
                    "")
                    << count << " threads";
        }
}

// A product whose sums are rounded, made on so many threads.
chain_values_t product_of(const chain_graph_t &g, int thread_count) {
    const thread_count_scope_t threads(thread_count);
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    const auto partitions = built.get_partitions();
    EXPECT_EQ(partitions.size(), 1u);
    auto values = initial_values(g, support::values_t::ordinary, 5);
    EXPECT_NE(run(g, partitions.front(), values).find("matmul"),
            std::string::npos);
    return values;
}

// A row and few rows streamed; blocks of rows and columns; batches; a product
// of bf16, and weights by column.
TEST(stress_one_answer, of_products_for_1_2_3_7_and_16_threads) {
    std::vector<matmul_case_t> cases(6);
    cases[0].src = {1, 2048}, cases[0].weights = {2048, 2176};
    cases[1].src = {7, 1024}, cases[1].weights = {1024, 1152};
    cases[2].src = {133, 301}, cases[2].weights = {301, 205};
    cases[3].src = {11, 9, 300}, cases[3].weights = {11, 300, 150};
    cases[4] = cases[2], cases[4].type = data_type_t::bf16;
    cases[5] = cases[1], cases[5].transpose_b = true;
    for (auto &c : cases) {
        c.group = 64;
        const chain_graph_t g = graph_of(c);
        const auto &dst = g.tensors.back();
        const auto expected = product_of(g, 1);
        for (const int count : {2, 3, 7, 16})
            EXPECT_EQ(support::difference(dst.type, expected.back().data(),
                              product_of(g, count).back().data(), dst.span()),
                    "")
                    << to_string(c) << ", " << count << " threads";
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
