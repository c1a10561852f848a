// Activations that the graph quantizes, times dequantized weights: sums of
// integers, close to what doubles make of the dequantized values.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "e2e/integer_graph.hpp"
#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using support::qtype_t;

std::vector<partition> partitions_of(
        const chain_graph_t &g, partition::policy policy) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    return built.get_partitions(policy);
}

bool is_integer_kernel(const std::string &name) {
    return name.find("integer_matmul") != std::string::npos;
}

// True if there is generated code, which has a way of its own for a few rows.
bool streams_integers() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

// The sums of what every other op has made by itself.
void expect_near(const chain_graph_t &g, const chain_values_t &apart,
        const chain_values_t &got) {
    const size_t dst = g.nodes[1].outputs[0];
    for_each_product(g, 1, apart, [&](const sum_t &sum) {
        const double is
                = support::float_at(t::f32, got[dst].data(), sum.element);
        ASSERT_NEAR(
                is, sum.sum, sum.magnitude * std::exp2(-20) + std::exp2(-120))
                << sum.element;
    });
}

// The values of every op by itself but the MatMul's, whose sums are doubles.
void check(
        const matmul_case_t &c, const quantized_src_t &source, bool expects) {
    const chain_graph_t g = graph_of(c, source);
    const auto fused = partitions_of(g, partition::policy::fusion);
    ASSERT_EQ(fused.size(), 1u);
    const auto got = initial_values(g, support::values_t::ordinary, c.seed);
    const std::string kernel = run(g, fused[0], got);
    // A skinny GEMM of floats, which may serve instead.
    const bool is_skinny = kernel.find("jit_matmul_n_lanes") == 0
                           || kernel.find("jit_matmul_k_lanes") == 0
                           || kernel == "jit_matmul_transposed_amx_f32";
    if (std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr) {
        EXPECT_EQ(is_integer_kernel(kernel), expects && !is_skinny) << kernel;
    }
    const auto apart = initial_values(g, support::values_t::ordinary, c.seed);
    for (const partition &p : partitions_of(g, partition::policy::debug))
        run(g, p, apart);
    expect_near(g, apart, got);
    EXPECT_TRUE(got[g.nodes[1].outputs[0]].intact());
}

// The first rows of a product of twice as many.
void check_bits(const matmul_case_t &few, const quantized_src_t &source) {
    matmul_case_t many = few;
    many.src[0] *= 2;
    const chain_graph_t of_few = graph_of(few, source),
                        of_many = graph_of(many, source);
    const auto all
            = initial_values(of_many, support::values_t::ordinary, few.seed);
    const auto some
            = initial_values(of_few, support::values_t::ordinary, few.seed);
    for (size_t i = 0; i < some.size(); ++i)
        std::memcpy(some[i].data(), all[i].data(), some[i].size());
    const auto of = [&](const chain_graph_t &g, const chain_values_t &values) {
        return run(
                g, partitions_of(g, partition::policy::fusion).at(0), values);
    };
    const std::string by_few = of(of_few, some), by_many = of(of_many, all);
    if (std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr && streams_integers()) {
        if (few.src[0] == 4) {
            EXPECT_NE(by_few, by_many);
        }
        EXPECT_TRUE(is_integer_kernel(by_few)) << by_few;
        EXPECT_TRUE(is_integer_kernel(by_many)) << by_many;
    }
    if (!is_integer_kernel(by_few) || !is_integer_kernel(by_many)) return;
    const size_t dst = of_few.nodes[1].outputs[0];
    EXPECT_EQ(
            std::memcmp(some[dst].data(), all[dst].data(), some[dst].size()), 0)
            << by_few << ", " << by_many;
}

TEST(integer_matmul, is_near_the_dequantized_product) {
    const quantized_src_t sources[]
            = {{t::u8, qtype_t::per_tensor, 0, true, false},
                    {t::s8, qtype_t::per_tensor, 0, false, true},
                    {t::s8, qtype_t::per_channel, 0, false, true},
                    {t::u8, qtype_t::per_channel, 0, true, true},
                    {t::s8, qtype_t::per_group, 32, false, true},
                    {t::u8, qtype_t::per_group, 16, true, false}};
    dim_t n = 0;
    for (const quantized_src_t &source : sources)
        for (const auto &[src, weights] :
                std::vector<std::pair<dims_t, dims_t>> {{{1, 64}, {64, 64}},
                        {{3, 96}, {96, 130}}, {{2, 3, 64}, {64, 34}},
                        {{7, 160}, {160, 66}}, {{530, 32}, {32, 10}}})
            for (const t quantized : {t::u4, t::s4, t::u8, t::s8})
                for (const t zps : {t::undef, t::u8, t::s4})
                    for (const dim_t group : {0, -1, 32})
                        for (const bool transposed : {false, true}) {
                            if (n++ % (5 * support::every())) continue;
                            matmul_case_t c;
                            c.src = src;
                            c.weights = weights;
                            c.quantized = quantized;
                            c.zps = zps;
                            c.group = group;
                            c.transpose_b = transposed;
                            c.bias = false;
                            c.seed = support::first_seed()
                                     + static_cast<uint64_t>(n);
                            SCOPED_TRACE(to_string(c) + ", source "
                                         + std::to_string(&source - sources));
                            check(c, source, true);
                            if (HasFailure()) return;
                        }
}

// Nibbles side by side down the depth are taken by eight.
TEST(integer_matmul_large, takes_groups_that_end_anywhere) {
    const quantized_src_t sources[]
            = {{t::u8, qtype_t::per_channel, 0, true, true},
                    {t::s8, qtype_t::per_tensor, 0, false, false}};
    for (const quantized_src_t &source : sources)
        for (const auto &[depth, group] : std::vector<std::pair<dim_t, dim_t>> {
                     {60, 0}, {62, -1}, {254, -1}, {84, 28}, {90, 30}})
            for (const dim_t rows : {3, 7})
                for (const t quantized : {t::u4, t::s4, t::u8, t::s8})
                    for (const t zps : {t::undef, t::u4})
                        for (const bool transposed : {false, true}) {
                            matmul_case_t c;
                            c.src = {rows, depth};
                            c.weights = {depth, 50};
                            c.quantized = quantized;
                            c.zps = zps;
                            c.group = group;
                            c.transpose_b = transposed;
                            SCOPED_TRACE(to_string(c));
                            check(c, source, true);
                            if (HasFailure()) return;
                        }
}

// The sums of a few rows are those of the same rows among many, bit for bit:
// as a stream, packed, and as bytes.
TEST(integer_matmul, few_rows_have_the_bits_of_many) {
    dim_t n = 0;
    for (const t src : {t::u8, t::s8})
        for (const bool has_zps : {false, true})
            for (const t quantized : {t::u4, t::s4, t::u8, t::s8})
                for (const dim_t group : {-1, 32, 64, 128})
                    for (const bool transposed : {false, true}) {
                        matmul_case_t c;
                        const dim_t rows[] = {4, 6, 11, 30};
                        c.src = {rows[n++ / 2 % 4], 384};
                        c.weights = {384, 198};
                        c.quantized = quantized;
                        c.zps = quantized;
                        c.group = group;
                        c.transpose_b = transposed;
                        SCOPED_TRACE(to_string(c));
                        check_bits(c,
                                {src, qtype_t::per_tensor, 0, has_zps, false});
                        if (HasFailure()) return;
                    }
}

// One group that is deeper than a block, and several.
TEST(integer_matmul, of_many_rows_is_by_tiles) {
    if (!may_use_tiles())
        GTEST_SKIP() << "this machine lacks AMX, or its use is capped";
    const quantized_src_t source {t::u8, qtype_t::per_channel, 0, true, true};
    for (const t quantized : {t::u4, t::s8})
        for (const dim_t rows : {16, 100})
            for (const dim_t group : {-1, 32})
                for (const bool transposed : {false, true}) {
                    matmul_case_t c;
                    c.src = {rows, 640};
                    c.weights = {640, 130};
                    c.quantized = quantized;
                    c.zps = quantized;
                    c.group = group;
                    c.transpose_b = transposed;
                    SCOPED_TRACE(to_string(c));
                    check(c, source, true);
                    const chain_graph_t g = graph_of(c, source);
                    const auto parts
                            = partitions_of(g, partition::policy::fusion);
                    const auto values = initial_values(
                            g, support::values_t::ordinary, c.seed);
                    EXPECT_EQ(run(g, parts[0], values),
                            "jit_integer_matmul_amx_int8");
                    if (HasFailure()) return;
                }
}

// Integers become bf16 where groups are short. The sums of a group are exact,
// as those of the other ways are.
class integer_matmul_by_bf16_large
    : public testing::TestWithParam<std::tuple<t, bool>> {};

TEST_P(integer_matmul_by_bf16_large, is_near_the_dequantized_product) {
    const auto &[quantized, transposed] = GetParam();
    const quantized_src_t sources[]
            = {{t::u8, qtype_t::per_tensor, 0, true, false},
                    {t::s8, qtype_t::per_channel, 0, true, true},
                    {t::u8, qtype_t::per_channel, 0, false, true}};
    dim_t n = 0;
    for (const dims_t &src : {dims_t {9, 256}, dims_t {2, 11, 384},
                 dims_t {100, 128}, dims_t {300, 640}})
        for (const dim_t group : {32, 64})
            for (const t zps : {quantized, t::undef}) {
                const quantized_src_t &source = sources[n++ % 3];
                matmul_case_t c;
                c.src = src;
                c.weights = {src.back(), 256};
                c.quantized = quantized;
                c.zps = zps;
                c.group = group;
                c.transpose_b = transposed;
                c.seed = support::first_seed() + static_cast<uint64_t>(n);
                SCOPED_TRACE(to_string(c));
                check(c, source, true);
                if (HasFailure()) return;
                const bool is_between = src[0] == 100 && bits_of(quantized) == 8
                                        && !transposed;
                if (!may_use_tiles() || is_between) continue;
                const chain_graph_t g = graph_of(c, source);
                const auto values = initial_values(
                        g, support::values_t::ordinary, c.seed);
                EXPECT_EQ(run(g, only_partition(g), values),
                        transposed ? "jit_matmul_k_lanes_amx_f32"
                        : bits_of(quantized) == 4
                                ? "jit_matmul_transposed_amx_f32"
                                : "jit_matmul_n_lanes_amx_f32");
            }
}
// Scaled sums of groups are infinite before the scale of src makes them small.
TEST_P(integer_matmul_by_bf16_large, loses_no_finite_result) {
    if (!may_use_tiles())
        GTEST_SKIP() << "this machine lacks AMX, or its use is capped";
    const auto &[quantized, transposed] = GetParam();
    const quantized_src_t source {t::u8, qtype_t::per_tensor, 0, true, false};
    for (const dim_t rows : {10, 300}) {
        matmul_case_t c;
        c.src = {rows, 256};
        c.weights = {256, 128};
        c.quantized = c.zps = quantized;
        c.group = 32;
        c.transpose_b = transposed;
        const chain_graph_t g = graph_of(c, source);
        const auto got = initial_values(
                g, support::values_t::ordinary, support::first_seed());
        const auto apart = initial_values(
                g, support::values_t::ordinary, support::first_seed());
        for (const auto *const values : {&got, &apart}) {
            const auto set = [&](size_t node, int exponent) {
                const auto &scales = (*values)[g.nodes[node].inputs[1]];
                auto *const scale = static_cast<float *>(scales.data());
                for (size_t i = 0; i < scales.size() / sizeof(float); ++i)
                    scale[i] = std::ldexp(1.f, exponent);
            };
            set(0, 119);
            set(2, -100);
        }
        run(g, only_partition(g), got);
        for (const partition &p : partitions_of(g, partition::policy::debug))
            run(g, p, apart);
        expect_near(g, apart, got);
    }
}

INSTANTIATE_TEST_SUITE_P(every, integer_matmul_by_bf16_large,
        testing::Combine(
                testing::Values(t::u4, t::s4, t::u8, t::s8), testing::Bool()));

TEST(integer_matmul, of_no_rows_columns_or_depth_is_not_planned) {
    const quantized_src_t sources[]
            = {{t::u8, qtype_t::per_tensor, 0, true, false},
                    {t::s8, qtype_t::per_tensor, 0, false, true}};
    for (const quantized_src_t &source : sources)
        for (const auto &[src, weights] :
                std::vector<std::pair<dims_t, dims_t>> {{{0, 64}, {64, 34}},
                        {{3, 64}, {64, 0}}, {{1, 3, 64}, {1, 64, 0}},
                        {{3, 0}, {0, 34}}, {{1, 6, 0}, {3, 0, 65}}})
            for (const bool transposed : {false, true}) {
                matmul_case_t c;
                c.src = src;
                c.weights = weights;
                c.transpose_b = transposed;
                SCOPED_TRACE(to_string(c));
                check(c, source, false);
                if (HasFailure()) return;
            }
}

// Differences reach 255 + 128, so that the sum of a group of 128 has more than
// 16 bits: (255 + 128) * (1 - 15) * 128.
TEST(integer_matmul, takes_a_zero_point_of_the_other_sign) {
    using lt = logical_tensor;
    constexpr dim_t depth = 128, cols = 64;
    const auto layout = lt::layout_type::strided;
    for (const dim_t rows : {1, 5, 64, 200}) {
        const lt src(0, lt::data_type::u8, {rows, depth}, layout);
        const lt scale(1, lt::data_type::f32, lt::dims {1}, layout);
        const lt zero(2, lt::data_type::s8, lt::dims {1}, layout);
        const lt values(3, lt::data_type::f32, {rows, depth}, layout);
        const lt packed(4, lt::data_type::u4, {depth, cols}, layout);
        const lt scales(5, lt::data_type::f32, {1, cols}, layout);
        const lt zeros(6, lt::data_type::u4, {1, cols}, layout);
        const lt weights(7, lt::data_type::f32, {depth, cols}, layout);
        const lt dst(8, lt::data_type::f32, {rows, cols}, layout);
        op of_src(0, op::kind::DynamicDequantize, {src, scale, zero}, {values},
                "src");
        op of_weights(1, op::kind::DynamicDequantize, {packed, scales, zeros},
                {weights}, "weights");
        of_weights.set_attr<std::string>(op::attr::qtype, "per_group");
        of_weights.set_attr<std::vector<int64_t>>(
                op::attr::group_shape, {depth, 1});
        graph g(dnnl::engine::kind::cpu);
        g.add_op(of_src);
        g.add_op(of_weights);
        g.add_op(op(2, op::kind::MatMul, {values, weights}, {dst}, "product"));
        g.finalize();
        const auto parts = g.get_partitions();
        ASSERT_EQ(parts.size(), 1u);
        const auto compiled = parts[0].compile(
                {src, scale, zero, packed, scales, zeros}, {dst}, cpu_engine());
        std::vector<uint8_t> x(static_cast<size_t>(rows * depth), 255);
        std::vector<uint8_t> w(depth * cols / 2, 0x11), z(cols / 2, 0xff);
        std::vector<float> s(cols, 1.f), got(static_cast<size_t>(rows * cols));
        int8_t x_zero = -128;
        float x_scale = 1.f;
        auto &cpu = cpu_engine();
        compiled.execute(cpu_stream(),
                {{src, cpu, x.data()}, {scale, cpu, &x_scale},
                        {zero, cpu, &x_zero}, {packed, cpu, w.data()},
                        {scales, cpu, s.data()}, {zeros, cpu, z.data()}},
                {{dst, cpu, got.data()}});
        cpu_stream().wait();
        EXPECT_EQ(got, std::vector<float>(got.size(), 383.f * -14 * depth))
                << rows << " rows, " << kernel_of(compiled);
    }
}

// Each batch of weights, such as an expert's, is multiplied as if it were
// alone.
TEST(integer_matmul, takes_batches_of_weights) {
    const quantized_src_t sources[]
            = {{t::u8, qtype_t::per_tensor, 0, true, false},
                    {t::s8, qtype_t::per_group, 32, false, true}};
    for (const quantized_src_t &source : sources)
        for (const auto &[src, weights] :
                std::vector<std::pair<dims_t, dims_t>> {
                        {{3, 1, 64}, {3, 64, 66}}, {{2, 5, 96}, {2, 96, 32}},
                        {{3, 64}, {4, 64, 40}}, {{2, 70, 64}, {2, 64, 130}}})
            for (const t quantized : {t::u4, t::s8})
                for (const dim_t group : {0, 32})
                    for (const bool transposed : {false, true}) {
                        matmul_case_t c;
                        c.src = src;
                        c.weights = weights;
                        c.quantized = quantized;
                        c.zps = t::u8;
                        c.group = group;
                        c.transpose_b = transposed;
                        SCOPED_TRACE(to_string(c) + ", source "
                                     + std::to_string(&source - sources));
                        check(c, source, true);
                    }
}

// Groups of eight are multiplied as f32, and so are batches of weights that
// begin within a byte. Groups of sixteen are not.
TEST(integer_matmul, leaves_what_does_not_pay_to_f32) {
    const quantized_src_t source {t::u8, qtype_t::per_tensor, 0, true, false};
    matmul_case_t c;
    c.src = {3, 64};
    c.weights = {64, 66};
    c.group = 8;
    check(c, source, false);
    c.src = {3, 512};
    c.weights = {512, 66};
    c.group = 16;
    check(c, source, true);
    c.src = {2, 3, 65};
    c.weights = {2, 65, 67};
    c.quantized = t::u4;
    c.group = 0;
    check(c, source, false);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
