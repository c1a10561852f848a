// Stages run by the caller's own threads instead of OpenMP's.

#include <gtest/gtest.h>

#include <dnnl_dequant/dnnl_dequant.hpp>

#include "e2e/dequantize_graph.hpp"
#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "stress/together.hpp"
#include "support/task_pool.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

using namespace e2e;
using support::task_pool_t;

using task_t = void (*)(void *argument, size_t index);

dnnl_dequant_parallel_for_t tasks_of(task_pool_t &pool, size_t concurrency) {
    return {concurrency,
            [](void *context, size_t count, task_t task, void *argument) {
        static_cast<task_pool_t *>(context)->run(count, task, argument);
    }, &pool};
}

// Large enough for sixteen tasks of 64 KiB each, its sizes odd.
dequantize_case_t large_case() {
    return per_group(dense_case({37, 1031, 33}, data_type_t::u4,
                             data_type_t::f32, data_type_t::u4),
            {1, 32, 1});
}

TEST(stress_parallel_for, gives_the_same_bits_for_1_2_3_7_and_16_tasks) {
    task_pool_t pool(3);
    for (const size_t count : {1u, 2u, 3u, 7u, 16u}) {
        const size_t before = pool.tasks_run();
        const parallel_for_scope scope(tasks_of(pool, count));
        EXPECT_EQ(check_case(large_case()), "") << count << " tasks";
        EXPECT_EQ(pool.tasks_run() - before, count > 1 ? count : 0u);
    }
}

chain_values_t values_of(const chain_graph_t &g) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    const auto partitions = built.get_partitions();
    EXPECT_EQ(partitions.size(), 1u);
    auto values = initial_values(g, support::values_t::ordinary, 5);
    EXPECT_NE(run(g, partitions.front(), values), "");
    return values;
}

// A product of few rows, one of blocks that threads take as they become free,
// and one whose stages share packed rows.
TEST(stress_parallel_for, multiplies_to_the_bits_of_openmp) {
    std::vector<matmul_case_t> cases(3);
    cases[0].src = {3, 1024}, cases[0].weights = {1024, 1152};
    cases[1].src = {133, 301}, cases[1].weights = {301, 205};
    cases[2] = cases[1], cases[2].type = data_type_t::bf16;
    task_pool_t pool(4);
    for (matmul_case_t &c : cases) {
        c.group = 64;
        const chain_graph_t g = graph_of(c);
        const auto &dst = g.tensors.back();
        const auto expected = values_of(g);
        const size_t before = pool.tasks_run();
        const parallel_for_scope scope(tasks_of(pool, 5));
        EXPECT_EQ(support::difference(dst.type, expected.back().data(),
                          values_of(g).back().data(), dst.span()),
                "")
                << to_string(c);
        EXPECT_GT(pool.tasks_run(), before) << to_string(c);
    }
}

// Serves what is compiled inside of a task, too.
TEST(stress_parallel_for, nests) {
    task_pool_t pool(3);
    struct nested_t {
        task_pool_t &pool;
        std::string wrong[4];
    } nested {pool, {}};
    pool.run(4, [](void *argument, size_t index) {
        auto &n = *static_cast<nested_t *>(argument);
        const parallel_for_scope scope(tasks_of(n.pool, 2 + index));
        n.wrong[index] = check_case(large_case());
    }, &nested);
    for (const std::string &wrong : nested.wrong)
        EXPECT_EQ(wrong, "");
}

TEST(stress_parallel_for, belongs_to_its_thread) {
    task_pool_t pool(2);
    const parallel_for_scope scope(tasks_of(pool, 2));
    EXPECT_EQ(together(2,
                      [](int) -> std::string {
        dnnl_dequant_parallel_for_t found {1, nullptr, &found};
        if (dnnl_dequant_get_parallel_for(&found) != dnnl_success
                || found.concurrency != 0 || found.run || found.context)
            return "another thread's is seen";
        return check_case(large_case());
    }),
            "");
    EXPECT_EQ(pool.tasks_run(), 0u);
}

TEST(stress_parallel_for, many_threads_share_a_pool) {
    task_pool_t pool(3);
    EXPECT_EQ(together(8,
                      [&](int t) {
        const parallel_for_scope scope(
                tasks_of(pool, 1 + static_cast<size_t>(t)));
        return check_case(large_case());
    }),
            "");
    EXPECT_GT(pool.tasks_run(), 0u);
}

TEST(stress_parallel_for, comes_back_at_the_end_of_a_scope) {
    task_pool_t pool(1);
    dnnl_dequant_parallel_for_t found;
    {
        const parallel_for_scope outer(tasks_of(pool, 2));
        {
            const parallel_for_scope inner(tasks_of(pool, 3));
            dnnl_dequant_get_parallel_for(&found);
            EXPECT_EQ(found.concurrency, 3u);
        }
        dnnl_dequant_get_parallel_for(&found);
        EXPECT_EQ(found.concurrency, 2u);
        EXPECT_EQ(found.context, &pool);
    }
    dnnl_dequant_get_parallel_for(&found);
    EXPECT_EQ(found.run, nullptr);
}

TEST(stress_parallel_for, refuses_what_cannot_run) {
    task_pool_t pool(1);
    const parallel_for_scope scope(tasks_of(pool, 2));
    auto none_at_once = tasks_of(pool, 0);
    EXPECT_THROW(parallel_for_scope {none_at_once}, dnnl::error);
    const dnnl_dequant_parallel_for_t no_function {2, nullptr, &pool};
    EXPECT_EQ(dnnl_dequant_set_parallel_for(&no_function),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_dequant_get_parallel_for(nullptr), dnnl_invalid_arguments);
    dnnl_dequant_parallel_for_t found;
    dnnl_dequant_get_parallel_for(&found);
    EXPECT_EQ(found.concurrency, 2u) << "the refused one has changed it";
}

dnnl_status_t status_of_executing(const dequantize_case_t &c) {
    std::vector<char> src(c.src.bytes()), scales(c.scales.bytes()),
            zps(c.zps.bytes()), dst(c.dst.bytes());
    support::fill(c, src.data(), scales.data(), zps.data());
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    dnnl::stream stream(cpu_engine());
    const tensor to(strided(dst_id, c.dst), cpu_engine(), dst.data());
    try {
        compiled.execute(stream,
                {{strided(src_id, c.src), cpu_engine(), src.data()},
                        {strided(scales_id, c.scales), cpu_engine(),
                                scales.data()},
                        {strided(zps_id, c.zps), cpu_engine(), zps.data()}},
                {to});
    } catch (const dnnl::error &error) {
        return error.status;
    }
    return dnnl_success;
}

TEST(stress_parallel_for, an_execution_fails_whose_tasks_are_not_all_called) {
    task_pool_t pool(2);
    dnnl_dequant_parallel_for_t stopped = tasks_of(pool, 4);
    stopped.run = [](void *, size_t count, task_t task, void *argument) {
        for (size_t i = 1; i < count; ++i)
            task(argument, i);
    };
    {
        const parallel_for_scope scope(stopped);
        EXPECT_EQ(status_of_executing(large_case()), dnnl_runtime_error);
    }
    EXPECT_EQ(status_of_executing(large_case()), dnnl_success);
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant
