// Values by digits of a row of weights, against plain loops, bit for bit, with
// pages behind all operands that fault.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

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
constexpr int digits = value_digits_t::digits;

// The operands of one row of weights.
struct operands_t {
    operands_t(const value_digits_t &format, dim_t count)
        : tokens(count)
        , padded(round_up(count, at_once))
        , values(bytes((count - 1) * format.pitch + format.value_bytes()))
        , last(bytes((at_once - 1) * format.pitch + format.value_bytes()))
        , weights(bytes(count * 4))
        , scales(bytes(count * 4))
        , zps(bytes(padded * 4))
        , scaled(bytes(padded * 4))
        , made(bytes(value_digits_kernel_t::digit_bytes(count)))
        , sums(bytes(format.sum_floats() * 4)) {
        support::random_t random(
                static_cast<uint64_t>(format.cols * 1000 + count));
        support::fill_integers(
                format.type, values.data(), values.size(), random);
        const dim_t whole = count / at_once * at_once * format.pitch;
        if (count % at_once != 0)
            std::memcpy(last.data(),
                    static_cast<const char *>(values.data()) + whole,
                    values.size() - bytes(whole));
        for (dim_t i = 0; i < count; ++i) {
            floats(weights)[i]
                    = static_cast<float>(random.between(0, 1 << 20)) / 77;
            floats(scales)[i]
                    = static_cast<float>(random.between(-1000, 1000)) / 256;
        }
        const bool has_sign = format.zps == t::s8 || format.zps == t::s4;
        const int most = bits_of(format.zps) == 4 ? 16 : 256;
        for (dim_t i = 0; i < padded; ++i)
            floats(zps)[i] = static_cast<float>(
                    random.between(0, most - 1) - (has_sign ? most / 2 : 0));
    }

    static size_t bytes(dim_t count) { return static_cast<size_t>(count); }
    static float *floats(guarded_buffer_t &buffer) {
        return static_cast<float *>(buffer.data());
    }

    void make_digits(const value_digits_kernel_t &kernel) {
        kernel.make_digits(
                {floats(weights), floats(scales), floats(zps), floats(scaled),
                        static_cast<int8_t *>(made.data()), &row, tokens});
    }

    int value(const value_digits_t &format, dim_t token, dim_t col) const {
        const auto *const at = static_cast<const uint8_t *>(values.data())
                               + token * format.pitch;
        return static_cast<int>(load_int(format.type, at, col));
    }
    int digit(dim_t token, int place) const {
        return static_cast<const int8_t *>(
                made.data())[(token / at_once * digits + place) * at_once
                             + token % at_once];
    }

    dim_t tokens, padded;
    guarded_buffer_t values, last, weights, scales, zps, scaled, made, sums;
    value_digits_row_t row {};
};

void check_digits(const value_digits_t &format, operands_t &operands) {
    float largest = 0;
    std::vector<float> scaled;
    for (dim_t i = 0; i < operands.tokens; ++i) {
        scaled.push_back(operands_t::floats(operands.weights)[i]
                         * operands_t::floats(operands.scales)[i]);
        largest = std::max(largest, std::abs(scaled.back()));
    }
    ASSERT_EQ(operands.row.norm, largest * (128.f / 127));
    const double unit = largest > 0 ? 127. * 65536 / double(largest) : 0;
    int64_t begins[digits] = {};
    for (dim_t i = 0; i < operands.padded; ++i) {
        auto number = i < operands.tokens
                              ? static_cast<int32_t>(std::nearbyint(
                                        double(scaled[static_cast<size_t>(i)])
                                        * unit))
                              : 0;
        const auto zp = format.has_zps() ? static_cast<int>(operands_t::floats(
                                                   operands.zps)[i])
                                         : 0;
        for (int d = 0; d < digits; ++d) {
            const int32_t digit = ((number + 128) & 255) - 128;
            ASSERT_EQ(operands.digit(i, d), digit) << i << ", digit " << d;
            number = (number - digit) / 256;
            begins[d] -= digit * (format.bias() + zp);
        }
        ASSERT_EQ(number, 0);
    }
    for (int d = 0; d < digits; ++d)
        ASSERT_EQ(operands.row.begins[d], begins[d]) << "digit " << d;
}

void check_sums(const value_digits_t &format, const operands_t &operands,
        const float *sums) {
    for (dim_t c = 0; c < format.cols; ++c) {
        int32_t of_digits[digits];
        std::copy_n(operands.row.begins, digits, of_digits);
        for (dim_t i = 0; i < operands.tokens; ++i)
            for (int d = 0; d < digits; ++d)
                of_digits[d]
                        += operands.digit(i, d)
                           * (operands.value(format, i, c) + format.bias());
        auto x = static_cast<float>(of_digits[0]);
        x = std::fma(static_cast<float>(of_digits[1]), 256.f, x);
        x = std::fma(static_cast<float>(of_digits[2]), 65536.f, x);
        ASSERT_EQ(sums[c], x * std::ldexp(1.f, -23) * operands.row.norm)
                << "column " << c << " of " << format.cols;
    }
}

// The sums are as close to the formula as digits allow.
void check_formula(
        const value_digits_t &format, operands_t &operands, const float *sums) {
    for (dim_t c = 0; c < format.cols; ++c) {
        double exact = 0, magnitude = 0;
        for (dim_t i = 0; i < operands.tokens; ++i) {
            const double weight
                    = double(operands_t::floats(operands.weights)[i])
                      * double(operands_t::floats(operands.scales)[i]);
            const double zp = format.has_zps()
                                      ? operands_t::floats(operands.zps)[i]
                                      : 0;
            const double x = operands.value(format, i, c) - zp;
            exact += weight * x;
            magnitude += double(operands.row.norm) * std::abs(x);
        }
        ASSERT_NEAR(sums[c], exact, magnitude * std::ldexp(1, -22))
                << "column " << c << " of " << format.cols;
    }
}

TEST(value_digits, give_what_plain_loops_do) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    for (const t type : {t::s8, t::u8, t::s4, t::u4})
        for (const t zps : {t::undef, t::s8, t::u8, t::s4, t::u4})
            for (const dim_t cols : {1, 2, 16, 40, 64, 80, 128, 200, 256, 512})
                for (const dim_t tokens : {1, 15, 16, 50, 512}) {
                    value_digits_t format {type, zps, cols};
                    format.pitch = format.value_bytes() + tokens % 3 * 8;
                    kernel_ptr_t kernel;
                    ASSERT_TRUE(make_jit_value_digits(
                            format, isa_of_machine(), kernel)
                                    .ok());
                    operands_t operands(format, tokens);
                    operands.make_digits(*kernel);
                    check_digits(format, operands);
                    auto *const sums = operands_t::floats(operands.sums);
                    const bool has_rest = tokens % at_once != 0;
                    kernel->run({operands.values.data(), tokens / at_once,
                            has_rest ? operands.last.data() : nullptr,
                            static_cast<const int8_t *>(operands.made.data()),
                            &operands.row, sums});
                    check_sums(format, operands, sums);
                    check_formula(format, operands, sums);
                    if (HasFatalFailure())
                        FAIL() << to_string(type) << " zero points "
                               << to_string(zps) << " tokens " << tokens;
                }
}

TEST(value_digits, of_what_is_not_finite_have_no_norm) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    const value_digits_t format {t::s8, t::undef, 16, 16};
    kernel_ptr_t kernel;
    ASSERT_TRUE(make_jit_value_digits(format, isa_of_machine(), kernel).ok());
    for (const float odd : {INFINITY, -INFINITY, NAN, 3.4e38f, 0.f})
        for (const dim_t at : {7, 20}) {
            operands_t operands(format, 21);
            std::fill_n(operands_t::floats(operands.weights), 21, 0.f);
            std::fill_n(operands_t::floats(operands.scales), 21, 1.f);
            operands_t::floats(operands.weights)[at] = odd;
            operands.make_digits(*kernel);
            EXPECT_EQ(std::isfinite(operands.row.norm), odd == 0.f);
        }
}

TEST(value_digits, refuse_what_they_do_not_take) {
    kernel_ptr_t kernel;
    const auto reason = [&](const value_digits_t &format, isa_t isa) {
        return make_jit_value_digits(format, isa, kernel).reason;
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
