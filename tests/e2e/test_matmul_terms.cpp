// Products of f32 on CPUs with AMX, whose tiles multiply an f32 as three bf16
// (kernels/skinny_gemm). Elsewhere other kernels have to be as right.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;

const char *kernel_of(const matmul_case_t &c) {
    if (c.transpose_b) return "jit_matmul_k_lanes_amx_f32";
    return bits_of(c.quantized) == 4 ? "jit_matmul_transposed_amx_f32"
                                     : "jit_matmul_n_lanes_amx_f32";
}

matmul_case_t case_of(
        t quantized, bool transpose_b, dim_t group, const dims_t &src) {
    matmul_case_t c;
    c.src = src;
    c.weights = {src.back(), 256};
    c.quantized = quantized;
    c.zps = quantized;
    c.group = group;
    c.transpose_b = transpose_b;
    return c;
}

// Runs the product, which tiles take where there are any. Padded rows of
// nibbles begin within a byte, and these they do not take.
void run_by_tiles(const matmul_case_t &c, const chain_graph_t &g,
        const chain_values_t &values) {
    const std::string kernel = run(g, only_partition(g), values);
    if (may_use_tiles() && (c.dense || bits_of(c.quantized) == 8)) {
        EXPECT_EQ(kernel, kernel_of(c));
    }
    compute(g, 0, values); // the weights
}

// The errors of f32 products that are summed one after the other.
void expect_near(const chain_graph_t &g, const chain_values_t &values,
        double least_of_src = 0) {
    for_each_product(g, 1, values, [&](const sum_t &sum) {
        const double got
                = support::float_at(t::f32, values.back().data(), sum.element);
        ASSERT_LE(std::fabs(got - sum.sum),
                sum.magnitude * std::exp2(-20) + least_of_src)
                << sum.element;
    });
}

class matmul_terms_large : public testing::TestWithParam<std::tuple<t, bool>> {
protected:
    static matmul_case_t case_of_src(dim_t group, const dims_t &src) {
        const auto &[quantized, transpose_b] = GetParam();
        return case_of(quantized, transpose_b, group, src);
    }
    static float *floats_of_src(
            const chain_graph_t &g, const chain_values_t &values) {
        return static_cast<float *>(values[g.nodes[1].inputs[0]].data());
    }
};

TEST_P(matmul_terms_large, have_the_bits_of_f32) {
    bool dense = false;
    for (const dim_t group : {0, -1, 32, 64, 128})
        for (const dims_t &src :
                {dims_t {8, 512}, dims_t {17, 256}, dims_t {3, 20, 128}}) {
            matmul_case_t c = case_of_src(group, src);
            c.dense = dense = !dense;
            SCOPED_TRACE(to_string(c));
            const chain_graph_t g = graph_of(c);
            const auto values = initial_values(
                    g, support::values_t::ordinary, support::first_seed());
            run_by_tiles(c, g, values);
            expect_near(g, values);
            EXPECT_TRUE(values.back().intact());
            if (HasFailure()) return;
        }
}

// Blocks of up to 512 rows, which are packed one after the other.
TEST_P(matmul_terms_large, are_of_every_block_of_rows) {
    const matmul_case_t c = case_of_src(64, {1100, 128});
    const chain_graph_t g = graph_of(c);
    const auto values = initial_values(
            g, support::values_t::ordinary, support::first_seed());
    run_by_tiles(c, g, values);
    expect_near(g, values);
}

// The last terms of a small f32 are denormal, so 2^-126 is lost at most.
TEST_P(matmul_terms_large, of_the_largest_and_the_smallest_src_are_as_exact) {
    for (const int exponent : {100, -90, -100, -125}) {
        const matmul_case_t c = case_of_src(64, {10, 256});
        const chain_graph_t g = graph_of(c);
        const auto values = initial_values(
                g, support::values_t::ordinary, support::first_seed());
        float *const src = floats_of_src(g, values);
        for (dim_t i = 0; i < 10 * 256; ++i)
            src[i] = std::ldexp(src[i], exponent);
        run_by_tiles(c, g, values);
        // 256 weights of up to 256 in number, by scales of up to 16.
        expect_near(g, values, std::exp2(-126) * 256 * 256 * 16);
    }
}

// A row with an element that is not finite has sums as the formula has; no
// other row has any.
TEST_P(matmul_terms_large, keep_what_is_not_finite) {
    const uint32_t nan_bits = 0x7f800001; // nothing in the upper half
    float nan;
    std::memcpy(&nan, &nan_bits, sizeof(nan));
    const float infinity = std::numeric_limits<float>::infinity();
    const matmul_case_t c = case_of_src(64, {9, 256});
    const chain_graph_t g = graph_of(c);
    const auto values = exact_values(g, support::first_seed());
    const auto expected = exact_values(g, support::first_seed());
    for (const auto *const of : {&values, &expected}) {
        float *const src = floats_of_src(g, *of);
        src[2 * 256 + 77] = nan;
        src[5 * 256 + 100] = infinity;
        src[7 * 256 + 255] = -infinity;
    }
    run_by_tiles(c, g, values);
    compute_exactly(g, expected);
    for (dim_t i = 0; i < 9 * 256; ++i) {
        const double right
                = support::float_at(t::f32, expected.back().data(), i);
        const double got = support::float_at(t::f32, values.back().data(), i);
        ASSERT_TRUE(std::isnan(right) ? std::isnan(got) : got == right)
                << i << ": " << got << ", expected " << right;
    }
}

std::string name_of_case(
        const testing::TestParamInfo<matmul_terms_large::ParamType> &of) {
    const auto &[quantized, transpose_b] = of.param;
    return std::string(to_string(quantized)) + (transpose_b ? "_nk" : "_kn");
}
INSTANTIATE_TEST_SUITE_P(every, matmul_terms_large,
        testing::Combine(
                testing::Values(t::u4, t::s4, t::u8, t::s8), testing::Bool()),
        name_of_case);

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
