// Values by digits of rows of weights, against plain loops, bit for bit, with
// pages behind all operands that fault.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/convert.hpp"
#include "kernels/attention/value_digits.hpp"
#include "kernels/kernel_rows.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {

namespace {

using t = data_type_t;
using support::guarded_buffer_t;
using kernel_ptr_t = std::shared_ptr<const value_digits_kernel_t>;

constexpr dim_t at_once = value_digits_kernel_t::tokens_at_once;
constexpr dim_t most_rows = value_digits_kernel_t::most_rows;
constexpr dim_t row_bytes = value_digits_kernel_t::row_bytes;

// The operands of some rows of weights.
struct operands_t {
    operands_t(const value_digits_t &format, dim_t row_count, dim_t count)
        : tokens(count)
        , padded(round_up(count, dim_t(16)))
        , values(bytes((count - 1) * format.pitch + format.value_bytes()))
        , last(bytes((at_once - 1) * format.pitch + format.value_bytes()))
        , weights(bytes(row_count * count * 4))
        , scales(bytes(count * 4))
        , zps(bytes(padded * 4))
        , made(bytes((row_count - 1) * row_bytes + padded * 4))
        , sums(bytes(row_count * format.sum_floats() * 4))
        , rows(static_cast<size_t>(row_count)) {
        support::random_t random(
                static_cast<uint64_t>(format.cols * 1000 + count));
        support::fill_integers(
                format.type, values.data(), values.size(), random);
        const dim_t whole = count / at_once * at_once * format.pitch;
        if (count % at_once != 0)
            std::memcpy(last.data(),
                    static_cast<const char *>(values.data()) + whole,
                    values.size() - bytes(whole));
        for (dim_t i = 0; i < row_count * count; ++i)
            floats(weights)[i]
                    = static_cast<float>(random.between(0, 1 << 20)) / 77;
        for (dim_t i = 0; i < count; ++i)
            floats(scales)[i]
                    = static_cast<float>(random.between(-1000, 1000)) / 256;
        const bool has_sign = format.zps == t::s8 || format.zps == t::s4;
        const int most = bits_of(format.zps) == 4 ? 16 : 256;
        for (dim_t i = 0; i < padded; ++i)
            floats(zps)[i] = static_cast<float>(
                    random.between(0, most - 1) - (has_sign ? most / 2 : 0));
        std::fill_n(floats(sums), sums.size() / 4, 0.5f);
    }

    static size_t bytes(dim_t count) { return static_cast<size_t>(count); }
    static float *floats(guarded_buffer_t &buffer) {
        return static_cast<float *>(buffer.data());
    }

    value_digits_kernel_t::weights_t all_weights() {
        return {floats(weights), tokens * 4, floats(scales), floats(zps),
                static_cast<int8_t *>(made.data()), rows.data(),
                static_cast<dim_t>(rows.size()), tokens};
    }
    void make_digits(const value_digits_kernel_t &kernel, int digits) {
        kernel.measure(all_weights());
        for (value_digits_row_t &row : rows) {
            row.unit = row.largest > 0
                               ? value_digits_t::most_of(digits) / row.largest
                               : 1;
            row.norm = 1 / row.unit;
        }
        kernel.make_digits(digits, all_weights());
    }

    float scaled(dim_t row, dim_t token) {
        return floats(weights)[row * tokens + token] * floats(scales)[token];
    }
    int zp(const value_digits_t &format, dim_t token) {
        return format.has_zps() ? static_cast<int>(floats(zps)[token]) : 0;
    }
    int value(const value_digits_t &format, dim_t token, dim_t col) const {
        const auto *const at = static_cast<const uint8_t *>(values.data())
                               + token * format.pitch;
        return static_cast<int>(load_int(format.type, at, col));
    }
    int digit(dim_t row, dim_t token, int place) const {
        return static_cast<const int8_t *>(
                made.data())[row * row_bytes + token / at_once * at_once * 4
                             + place * at_once + token % at_once];
    }

    dim_t tokens, padded;
    guarded_buffer_t values, last, weights, scales, zps, made, sums;
    std::vector<value_digits_row_t> rows;
};

void check_digits(const value_digits_t &format, int digits,
        operands_t &operands, dim_t r) {
    const value_digits_row_t &row = operands.rows[static_cast<size_t>(r)];
    float largest = 0;
    double total = 0;
    for (dim_t i = 0; i < operands.tokens; ++i) {
        largest = std::max(largest, std::abs(operands.scaled(r, i)));
        total += std::abs(operands.scaled(r, i));
    }
    ASSERT_EQ(row.largest, largest);
    ASSERT_NEAR(row.total, total, total * 1e-5);
    int64_t begins[value_digits_t::most_digits] = {};
    for (dim_t i = 0; i < operands.padded; ++i) {
        auto number = i < operands.tokens
                              ? static_cast<int32_t>(std::nearbyint(
                                        operands.scaled(r, i) * row.unit))
                              : 0;
        for (int d = 0; d < digits; ++d) {
            const int32_t digit = ((number + 128) & 255) - 128;
            ASSERT_EQ(operands.digit(r, i, d), digit) << i << ", digit " << d;
            number = (number - digit) / 256;
            begins[d] -= digit * (format.bias() + operands.zp(format, i));
        }
        ASSERT_EQ(number, 0);
    }
    for (int d = 0; d < digits; ++d)
        ASSERT_EQ(row.begins[d], begins[d]) << "digit " << d;
}

// The sums begin with 0.5.
void check_sums(const value_digits_t &format, int digits,
        const operands_t &operands, dim_t r, const float *sums) {
    const value_digits_row_t &row = operands.rows[static_cast<size_t>(r)];
    for (dim_t c = 0; c < format.cols; ++c) {
        int32_t of_digits[value_digits_t::most_digits];
        std::copy_n(row.begins, digits, of_digits);
        for (dim_t i = 0; i < operands.tokens; ++i)
            for (int d = 0; d < digits; ++d)
                of_digits[d]
                        += operands.digit(r, i, d)
                           * (operands.value(format, i, c) + format.bias());
        auto x = static_cast<float>(of_digits[0]);
        x = std::fma(static_cast<float>(of_digits[1]), 256.f, x);
        if (digits == 3)
            x = std::fma(static_cast<float>(of_digits[2]), 65536.f, x);
        ASSERT_EQ(sums[c], std::fma(x, row.norm, 0.5f))
                << "column " << c << " of " << format.cols;
    }
}

// The sums are as close to the formula as digits allow.
void check_formula(const value_digits_t &format, int digits,
        operands_t &operands, dim_t r, const float *sums) {
    const value_digits_row_t &row = operands.rows[static_cast<size_t>(r)];
    for (dim_t c = 0; c < format.cols; ++c) {
        double exact = 0.5, magnitude = 1e-5;
        for (dim_t i = 0; i < operands.tokens; ++i) {
            const double x
                    = operands.value(format, i, c) - operands.zp(format, i);
            exact += double(operands.scaled(r, i)) * x;
            magnitude += double(row.largest) * std::abs(x);
        }
        ASSERT_NEAR(sums[c], exact,
                magnitude * std::ldexp(1, digits == 3 ? -22 : -15))
                << "column " << c << " of " << format.cols;
    }
}

void check_rows(const value_digits_t &format, int digits,
        const value_digits_kernel_t &kernel, dim_t rows, dim_t tokens) {
    operands_t operands(format, rows, tokens);
    operands.make_digits(kernel, digits);
    auto *const sums = operands_t::floats(operands.sums);
    const bool has_rest = tokens % at_once != 0;
    kernel.run(digits, rows,
            {operands.values.data(), tokens / at_once,
                    has_rest ? operands.last.data() : nullptr,
                    static_cast<const int8_t *>(operands.made.data()),
                    operands.rows.data(), sums});
    kernel.put_in_order(rows, sums);
    for (dim_t r = 0; r < rows; ++r) {
        const float *const of_row = sums + r * format.sum_floats();
        check_digits(format, digits, operands, r);
        check_sums(format, digits, operands, r, of_row);
        check_formula(format, digits, operands, r, of_row);
        if (testing::Test::HasFatalFailure())
            FAIL() << to_string(format.type) << " zero points "
                   << to_string(format.zps) << " tokens " << tokens << " row "
                   << r << " of " << rows << ", " << digits << " digits";
    }
}

TEST(value_digits, give_what_plain_loops_do) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    for (const t type : {t::s8, t::u8, t::s4, t::u4})
        for (const t zps : {t::undef, t::s8, t::u8, t::s4, t::u4})
            for (const dim_t cols :
                    {1, 2, 16, 40, 64, 80, 128, 200, 256, 512}) {
                value_digits_t format {type, zps, cols};
                format.pitch = format.value_bytes() + cols % 3 * 8;
                format.tolerance = 1e-4f; // both numbers of digits
                kernel_ptr_t kernel;
                ASSERT_TRUE(make_jit_value_digits(
                        format, most_rows, isa_of_machine(), kernel)
                                .ok());
                for (const int digits : {2, 3})
                    for (dim_t rows = 1; rows <= most_rows; ++rows)
                        for (const dim_t tokens : {1, 15, 16, 50, 256}) {
                            check_rows(format, digits, *kernel, rows, tokens);
                            if (HasFatalFailure()) return;
                        }
            }
}

TEST(value_digits, serve_weights_that_are_no_few_large_ones) {
    value_digits_t format {t::s8, t::undef, 128, 128};
    EXPECT_EQ(format.tokens_together(), 128);
    EXPECT_TRUE(format.serve(3, 128, 1, 2));
    EXPECT_FALSE(format.serve(2, 128, 1, 128));
    format.tolerance = 1.f / (1 << 11); // f16
    EXPECT_TRUE(format.serve(2, 128, 1, 6));
    EXPECT_FALSE(format.serve(2, 128, 1, 5));
    format.tolerance = 1.f / (1 << 8); // bf16
    EXPECT_TRUE(format.serve(2, 128, 1, 2));
    // One token has nearly all attention, and its value may be 0.
    EXPECT_FALSE(format.serve(2, 128, 1, 1.1f));
    EXPECT_TRUE(format.serve(3, 128, 1, 1.1f));
    EXPECT_FALSE(format.serve(3, 128, 1, 1.002f));
    // Or all of it, by integers that are exact.
    EXPECT_TRUE(format.serve(2, 128, 1, 1));
    format.pitch = 64;
    EXPECT_EQ(format.tokens_together(), 256);
    format.pitch = 4096;
    EXPECT_EQ(format.tokens_together(), 64);
}

TEST(value_digits, of_what_is_not_finite_have_no_finite_sum) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    const value_digits_t format {t::s8, t::undef, 16, 16};
    kernel_ptr_t kernel;
    ASSERT_TRUE(
            make_jit_value_digits(format, 2, isa_of_machine(), kernel).ok());
    for (const float odd : {INFINITY, -INFINITY, NAN, 3.4e38f, 0.f})
        for (const dim_t at : {7, 20}) {
            operands_t operands(format, 2, 21);
            std::fill_n(operands_t::floats(operands.weights), 42, 0.f);
            std::fill_n(operands_t::floats(operands.scales), 21, 2.f);
            operands_t::floats(operands.weights)[21 + at] = odd;
            kernel->measure(operands.all_weights());
            EXPECT_EQ(operands.rows[0].total, 0.f);
            EXPECT_EQ(std::isfinite(operands.rows[1].total), odd == 0.f);
        }
}

TEST(value_digits, refuse_what_they_do_not_take) {
    kernel_ptr_t kernel;
    const auto reason = [&](const value_digits_t &format, isa_t isa) {
        return make_jit_value_digits(format, 1, isa, kernel).reason;
    };
    value_digits_t format {t::s8, t::undef, 520, 520};
    EXPECT_EQ(reason(format, isa_avx512_core_vnni),
            "a token has 520 bytes; expected 512 at most");
    EXPECT_EQ(reason(format, isa_avx2), "no AVX-512 VNNI");
    format.cols = 128;
    format.pitch = 65600;
    EXPECT_EQ(reason(format, isa_avx512_core_vnni),
            "tokens lie 65600 bytes apart; expected 65536 at most");
}

} // namespace

} // namespace dnnl_dequant

#endif
