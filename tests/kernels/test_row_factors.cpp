// Factors of rows: the product by one rounds as the quotient by the scale does,
// for every x of the row that is near a tie.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/convert.hpp"
#include "base/isa.hpp"
#include "kernels/quantize/jit_row_factors.hpp"
#include "support/cross_product.hpp"
#include "support/isa_of_machine.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

constexpr int rows = 16;

struct factor_case_t {
    data_type_t src;
    bool has_zps, is_u8;
    float steps() const { return !has_zps ? 127.f : is_u8 ? 255.f : 254.f; }
};

uint16_t bits_of(data_type_t src, float x) {
    uint16_t bits;
    store_f32(src, &bits, 0, x);
    return bits;
}

// Ends of ranges: either side has any significand, exponents are near.
float some_end(const factor_case_t &c, support::random_t &random, int around) {
    const bool is_bf16 = c.src == data_type_t::bf16;
    const dim_t significands = is_bf16 ? 128 : 1024;
    const auto x = static_cast<float>(
            random.between(significands, 2 * significands - 1));
    return std::ldexp(x, around + static_cast<int>(random.between(-3, 3)));
}

void expect_as_quotient(const factor_case_t &c, const row_parameters_t &made,
        int row, float x) {
    const float scale = made.scales[row], factor = made.factors[row];
    const float sum = std::fma(x, factor, integers_from);
    ASSERT_EQ(std::nearbyint(x / scale), sum - integers_from)
            << to_string(c.src) << " x " << x << ", scale " << scale
            << ", factor " << factor << ", from " << -made.below[row] << " to "
            << made.above[row];
    if (!c.has_zps) return;
    // A tie would be to the nearest even sum, not quotient.
    const double product = double {x} * factor;
    ASSERT_NE(std::fabs(product - std::trunc(product)), .5);
}

// Looks at one row.
void expect_near_ties(
        const factor_case_t &c, const row_parameters_t &made, int row) {
    const float most = std::max(made.above[row], made.below[row]);
    expect_as_quotient(c, made, row, most);
    for (int n = 1; n <= 2 * static_cast<int>(c.steps()) + 1; n += 2) {
        const double tie = n * .5 * double {made.scales[row]};
        const int near = bits_of(c.src, static_cast<float>(tie));
        for (int bits = near - 1; bits <= near + 1; ++bits) {
            const auto word = static_cast<uint16_t>(bits);
            const float x = load_f32(c.src, &word, 0);
            if (x <= most) expect_as_quotient(c, made, row, x);
        }
    }
}

// Returns how many rows of so many had factors.
int check_rows(const factor_case_t &c, support::random_t &random) {
    alignas(64) float above[rows], below[rows];
    const bool is_bf16 = c.src == data_type_t::bf16;
    for (int i = 0; i < rows; ++i) {
        const int around = static_cast<int>(
                is_bf16 ? random.between(-40, 30) : random.between(-20, 2));
        const bool has_below = c.has_zps && !random.one_in(8);
        uint32_t bits = bits_of(c.src, some_end(c, random, around));
        std::memcpy(above + i, &bits, sizeof(bits));
        bits = has_below ? bits_of(c.src, -some_end(c, random, around)) : 0;
        std::memcpy(below + i, &bits, sizeof(bits));
    }
    row_parameters_t made;
    float scales[rows];
    uint8_t zps[rows];
    const row_ranges_t ranges {c.src, c.has_zps, c.is_u8, above,
            c.has_zps ? below : nullptr, rows};
    make_row_parameters(ranges, made, scales, c.has_zps ? zps : nullptr);
    if (made.is_odd) return 0;
    make_row_factors(ranges, made);
    int with_factor = 0;
    for (int i = 0; i < rows && !testing::Test::HasFatalFailure(); ++i) {
        if (made.factors[i] == 0.f) continue;
        ++with_factor;
        expect_near_ties(c, made, i);
    }
    return with_factor;
}

TEST(row_factors, round_as_quotients_by_the_scale) {
    if (!has(support::isa_of_machine(), isa_avx512_core))
        GTEST_SKIP() << "row_factors needs AVX-512";
    support::random_t random(support::first_seed());
    for (const auto src : {data_type_t::bf16, data_type_t::f16})
        for (const int mode : {0, 1, 2}) {
            const factor_case_t c {src, mode > 0, mode == 1};
            SCOPED_TRACE(testing::Message()
                         << to_string(src) << " in " << c.steps());
            constexpr int repeats = 400;
            int with_factor = 0;
            for (int i = 0; i < repeats && !HasFatalFailure(); ++i)
                with_factor += check_rows(c, random);
            if (HasFatalFailure()) return;
            EXPECT_GT(with_factor, repeats * rows / (c.has_zps ? 5 : 2));
        }
}

} // namespace
} // namespace dnnl_dequant
