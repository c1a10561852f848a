// Tests what a program sets for the whole process: log lines, the compiled
// partitions' cache, and the instruction sets that kernels may use.

#include <gtest/gtest.h>

#include <cstdlib>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/cpu.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

dequantize_case_t case_of(dim_t columns) {
    return dense_case({3, columns}, data_type_t::s8, data_type_t::f32);
}

/// Returns what the library prints while it compiles for so many columns.
std::string printed_by_compile(dim_t columns) {
    const auto c = case_of(columns);
    const auto partition = partition_of(op_of(c));
    ::testing::internal::CaptureStdout();
    compile_or_throw(partition, inputs_of(c), {strided(dst_id, c.dst)});
    return ::testing::internal::GetCapturedStdout();
}

class settings : public ::testing::Test {
protected:
    // A run may have begun with lines of its own.
    void SetUp() override { dnnl_set_verbose(0); }
    void TearDown() override { dnnl_set_verbose(0); }

    static bool is_hit(dim_t columns) {
        const std::string line = printed_by_compile(columns);
        const bool hit = line.find("compile:compiled_partition_cache_hit")
                         != std::string::npos;
        EXPECT_NE(hit, line.find("compile:cache_miss") != std::string::npos)
                << line;
        return hit;
    }
};

TEST_F(settings, of_log_lines_are_followed) {
    EXPECT_EQ(printed_by_compile(21), "");
    ASSERT_EQ(dnnl_set_verbose(2), dnnl_success);
    EXPECT_NE(printed_by_compile(22).find("graph,compile:"), std::string::npos);
    ASSERT_EQ(dnnl_set_verbose(1), dnnl_success);
    EXPECT_EQ(printed_by_compile(23).find("graph,compile:"), std::string::npos);
    // A refused level changes nothing.
    ASSERT_NE(dnnl_set_verbose(7), dnnl_success);
    EXPECT_EQ(printed_by_compile(24).find("graph,compile:"), std::string::npos);
}

class settings_of_the_cache : public settings {
protected:
    static void expect_last_used_kept();
};

void settings_of_the_cache::expect_last_used_kept() {
    ASSERT_EQ(dnnl_graph_set_compiled_partition_cache_capacity(0),
            dnnl_success); // empties it
    ASSERT_EQ(dnnl_set_verbose(2), dnnl_success);
    EXPECT_FALSE(is_hit(31));
    EXPECT_FALSE(is_hit(31));
    ASSERT_EQ(
            dnnl_graph_set_compiled_partition_cache_capacity(2), dnnl_success);
    EXPECT_FALSE(is_hit(31));
    EXPECT_FALSE(is_hit(32));
    EXPECT_TRUE(is_hit(31));
    EXPECT_FALSE(is_hit(33)); // in the place of 32
    EXPECT_TRUE(is_hit(31));
    EXPECT_FALSE(is_hit(32));
    ASSERT_NE(
            dnnl_graph_set_compiled_partition_cache_capacity(-1), dnnl_success);
    EXPECT_TRUE(is_hit(32));
    // A smaller one drops the others at once.
    ASSERT_EQ(
            dnnl_graph_set_compiled_partition_cache_capacity(1), dnnl_success);
    ASSERT_EQ(
            dnnl_graph_set_compiled_partition_cache_capacity(2), dnnl_success);
    EXPECT_TRUE(is_hit(32));
    EXPECT_FALSE(is_hit(31));
}

// Integers may lose bits in one of these modes and not in the other.
TEST_F(settings_of_the_cache, tell_modes_apart_that_apply_to_integers) {
    const auto c = case_of(37);
    const auto compile_in = [&](bool applies_to_integers) {
        graph g(dnnl::engine::kind::cpu);
        g.set_fpmath_mode(dnnl::fpmath_mode::bf16, applies_to_integers);
        g.add_op(op_of(c));
        g.finalize();
        ::testing::internal::CaptureStdout();
        g.get_partitions().at(0).compile(
                inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
        return ::testing::internal::GetCapturedStdout();
    };
    ASSERT_EQ(dnnl_set_verbose(2), dnnl_success);
    for (const bool applies : {false, true})
        EXPECT_NE(compile_in(applies).find("compile:cache_miss"),
                std::string::npos)
                << applies;
}

// In a process of its own: oneDNN 3.7's own cache crashes where it shrinks
// after partitions in it have ended.
TEST_F(settings_of_the_cache, keep_the_last_used) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
            {
                expect_last_used_kept();
                std::exit(HasFailure() ? 1 : 0);
            },
            ::testing::ExitedWithCode(0), "");
}

// oneDNN's cap of instruction sets holds for ours.
TEST_F(settings, and_the_cpu_decide_which_code_is_generated) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")
            || !support::has_f16c())
        GTEST_SKIP() << "the CPU has no AVX2";
    const bool has_avx512_core = __builtin_cpu_supports("avx512f")
                                 && __builtin_cpu_supports("avx512bw")
                                 && __builtin_cpu_supports("avx512vl")
                                 && __builtin_cpu_supports("avx512dq");
    const char *const cap = std::getenv("ONEDNN_MAX_CPU_ISA");
    const std::string most = cap ? cap : "";
    const bool allows_avx512
            = most.empty() || most == "ALL" || most.find("AVX512") == 0;
    const bool allows_avx2 = allows_avx512 || most.find("AVX2") == 0;
    const std::string expected = !allows_avx2 ? "ref_dequantize"
                                 : allows_avx512 && has_avx512_core
                                         ? "jit_dequantize_avx512_core"
                                         : "jit_dequantize_avx2";
    // No reorder of oneDNN's takes it.
    const auto c = per_group(dense_case({3, 20}, data_type_t::u4,
                                     data_type_t::f32, data_type_t::u4),
            {1, 8});
    const auto compiled = compile_or_throw(
            partition_of(op_of(c)), inputs_of(c), {strided(dst_id, c.dst)});
    EXPECT_EQ(kernel_of(compiled), expected);
#else
    GTEST_SKIP() << "generated code is of x86-64";
#endif
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
