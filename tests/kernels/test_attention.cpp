// The generated kernels of attention against plain loops, bit for bit, with
// pages behind keys and values that fault.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "kernels/attention/digits.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {

namespace {

using t = data_type_t;
using support::guarded_buffer_t;

constexpr t types[] = {t::s8, t::u8, t::s4, t::u4};

int number_at(t type, const void *data, dim_t at) {
    const auto *const bytes = static_cast<const uint8_t *>(data);
    if (bits_of(type) == 8)
        return type == t::s8 ? static_cast<int8_t>(bytes[at]) : bytes[at];
    const int nibble = bytes[at / 2] >> at % 2 * 4 & 15;
    return type == t::s4 && nibble > 7 ? nibble - 16 : nibble;
}

std::vector<float> any_floats(support::random_t &random, dim_t count) {
    std::vector<float> floats;
    for (dim_t i = 0; i < count; ++i)
        floats.push_back(static_cast<float>(random.between(-1000, 1000)) / 256);
    return floats;
}

guarded_buffer_t any_numbers(support::random_t &random, t type, dim_t tokens,
        dim_t pitch, dim_t bytes) {
    guarded_buffer_t buffer(static_cast<size_t>((tokens - 1) * pitch + bytes));
    support::fill_integers(type, buffer.data(), buffer.size(), random);
    return buffer;
}

// --- digits

// One token's sum, as sixteen lanes that are added up by halves.
float sum_of(
        const digits_format_t &format, const int8_t *digits, const char *key) {
    std::array<std::array<int32_t, 16>, 3> sums {};
    const dim_t halves = format.numbers_a_byte();
    for (dim_t k = 0; k < format.head; ++k) {
        const dim_t byte = k / halves;
        for (int d = 0; d < format.digits; ++d) {
            const dim_t vector = byte / format.chunk * halves + k % halves;
            const dim_t place = (vector * format.digits + d) * format.chunk
                                + byte % format.chunk;
            sums[static_cast<size_t>(d)]
                [static_cast<size_t>(byte % format.chunk / 4)]
                    += number_at(format.type, key, k) * digits[place];
        }
    }
    std::array<float, 16> lanes {};
    for (size_t i = 0; i < 16; ++i) {
        lanes[i] = static_cast<float>(sums[0][i] + sums[1][i] * 256);
        if (format.digits == 3)
            lanes[i] = std::fma(
                    static_cast<float>(sums[2][i]), 65536.f, lanes[i]);
    }
    std::array<float, 4> quarters {};
    for (size_t q = 0; q < 4; ++q)
        quarters[q] = (lanes[4 * q] + lanes[4 * q + 2])
                      + (lanes[4 * q + 1] + lanes[4 * q + 3]);
    return (quarters[0] + quarters[1]) + (quarters[2] + quarters[3]);
}

void check_digits(const digits_format_t &format, dim_t rows, dim_t groups) {
    support::random_t random(static_cast<uint64_t>(format.head * 100 + rows));
    const dim_t tokens = groups * digits_kernel_t::tokens_at_once;
    std::shared_ptr<const digits_kernel_t> kernel;
    ASSERT_TRUE(make_jit_digits(format, rows, isa_of_machine(), kernel).ok());
    const auto keys = any_numbers(
            random, format.type, tokens, format.pitch, format.key_bytes());
    const auto query = any_floats(random, rows * format.head);
    const auto scales = any_floats(random, tokens),
               zps = any_floats(random, tokens);
    std::vector<int8_t> digits(static_cast<size_t>(rows * format.row_bytes()));
    std::vector<digits_row_t> made(static_cast<size_t>(rows));
    for (dim_t r = 0; r < rows; ++r)
        make_digits(format, query.data() + r * format.head,
                digits.data() + r * format.row_bytes(),
                made[static_cast<size_t>(r)]);
    guarded_buffer_t sums(
            static_cast<size_t>(4 * digits_kernel_t::sum_count(rows)));
    std::vector<float> scores(static_cast<size_t>(rows * tokens));
    kernel->run(rows, {keys.data(), digits.data(), made.data(), scales.data(),
                              zps.data(), scores.data(), tokens * 4, groups,
                              static_cast<float *>(sums.data())});
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t token = 0; token < tokens; ++token) {
            const auto n = static_cast<size_t>(token);
            const digits_row_t &row = made[static_cast<size_t>(r)];
            float x = sum_of(format, digits.data() + r * format.row_bytes(),
                              static_cast<const char *>(keys.data())
                                      + token * format.pitch)
                      * std::ldexp(1.f, 1 - 8 * format.digits);
            if (format.has_zps) x = std::fma(-zps[n], row.total, x);
            ASSERT_EQ(scores[static_cast<size_t>(r * tokens) + n],
                    x * row.norm * scales[n])
                    << to_string(format.type) << " head " << format.head
                    << " row " << r << " of " << rows << " token " << token;
        }
}

TEST(attention_digits, give_what_plain_loops_do) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    for (const t type : types)
        for (const dim_t head : {2, 16, 40, 64, 80, 128, 192, 256, 512})
            for (dim_t rows = 1; rows <= digits_kernel_t::most_rows; ++rows) {
                digits_format_t format;
                format.type = type;
                format.head = head;
                format.digits = head % 32 == 0 ? 3 : 2;
                format.pitch = format.key_bytes() + rows % 3 * 8;
                format.has_zps = rows % 2 == 0;
                check_digits(format, rows, 1 + rows % 2);
                if (HasFatalFailure()) return;
            }
}

TEST(attention_digits, stand_for_the_query) {
    support::random_t random(1);
    for (const t type : types)
        for (const int count : {2, 3}) {
            const digits_format_t format {type, 100, 100, count};
            const auto query = any_floats(random, format.head);
            std::vector<int8_t> digits(static_cast<size_t>(format.row_bytes()));
            digits_row_t row {};
            make_digits(format, query.data(), digits.data(), row);
            // A key of one number alone.
            for (dim_t k = 0; k < format.head; ++k) {
                std::vector<char> key(static_cast<size_t>(format.head));
                if (bits_of(type) == 8) key[static_cast<size_t>(k)] = 1;
                else
                    key[static_cast<size_t>(k / 2)]
                            = static_cast<char>(1 << k % 2 * 4);
                const float number
                        = std::ldexp(sum_of(format, digits.data(), key.data()),
                                  1 - 8 * count)
                          * row.norm;
                EXPECT_NEAR(number, query[static_cast<size_t>(k)],
                        4 * std::ldexp(1.01, 1 - 8 * count));
            }
        }
}

TEST(attention_digits, of_what_is_not_finite_are_nan) {
    const digits_format_t format {t::s8, 20, 20, 3};
    std::vector<int8_t> digits(static_cast<size_t>(format.row_bytes()));
    for (const float odd : {INFINITY, -INFINITY, NAN, 0.f}) {
        std::vector<float> query(20, 0.f);
        query[7] = odd;
        digits_row_t row {};
        make_digits(format, query.data(), digits.data(), row);
        EXPECT_EQ(std::isnan(row.norm), odd != 0.f);
        EXPECT_EQ(row.total, 0.f);
    }
}

TEST(attention_digits, refuse_long_keys) {
    std::shared_ptr<const digits_kernel_t> kernel;
    const auto made = make_jit_digits(
            {t::s8, 520, 520, 3}, 1, isa_avx512_core_vnni, kernel);
    EXPECT_EQ(made.reason, "a token has 520 bytes; expected 512 at most");
    EXPECT_EQ(make_jit_digits({t::s8, 64, 64, 3}, 1, isa_avx2, kernel).reason,
            "no AVX-512 VNNI");
}

// --- weighted sums

void check_sum(
        const weighted_values_t &values, dim_t rows, dim_t tokens, isa_t isa) {
    support::random_t random(static_cast<uint64_t>(values.cols * 100 + rows));
    std::shared_ptr<const weighted_sum_t> kernel;
    ASSERT_TRUE(make_jit_weighted_sum(values, rows, isa, kernel).ok());
    const auto numbers = any_numbers(random, values.type, tokens, values.pitch,
            bytes_of(values.type, values.cols));
    const auto weights = any_floats(random, rows * tokens);
    const float zp = static_cast<float>(random.between(-8, 8));
    std::vector<float> sums(static_cast<size_t>(rows * values.cols));
    const weighted_sum_t::block_t block {numbers.data(), weights.data(), &zp,
            sums.data(), tokens * 4, values.cols * 4, tokens, nullptr, 0};
    kernel->run(rows, block);
    kernel->put_in_order(rows, block);
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t c = 0; c < values.cols; ++c) {
            float sum = 0;
            for (dim_t token = 0; token < tokens; ++token)
                sum = std::fma(static_cast<float>(number_at(values.type,
                                       static_cast<const char *>(numbers.data())
                                               + token * values.pitch,
                                       c))
                                       - (values.has_zp ? zp : 0),
                        weights[static_cast<size_t>(r * tokens + token)], sum);
            ASSERT_EQ(sums[static_cast<size_t>(r * values.cols + c)], sum)
                    << to_string(values.type) << " columns " << values.cols
                    << " row " << r << " of " << rows << " column " << c;
        }
}

class weighted_sum : public testing::TestWithParam<isa_t> {};

TEST_P(weighted_sum, is_what_plain_loops_give) {
    const isa_t isa = GetParam();
    if (!has(isa_of_machine(), isa)) GTEST_SKIP() << "no such instructions";
    for (const t type : types)
        for (const dim_t cols : {32, 64, 96, 128, 256})
            for (dim_t rows = 1; rows <= weighted_sum_t::most_rows; ++rows) {
                const dim_t pitch = bytes_of(type, cols) + rows % 3 * 8;
                check_sum({type, pitch, cols, rows % 2 == 0}, rows,
                        1 + rows * 7, isa);
                if (HasFatalFailure()) return;
            }
    for (const t type : {t::s8, t::u8})
        for (const dim_t cols : {16, 48, 80})
            check_sum({type, cols, cols, true}, 12, 3, isa);
}

INSTANTIATE_TEST_SUITE_P(
        every, weighted_sum, testing::Values(isa_avx2, isa_avx512_core));

TEST(weighted_sum_refusals, name_what_was_found) {
    std::shared_ptr<const weighted_sum_t> kernel;
    const auto made = make_jit_weighted_sum(
            {t::u4, 24, 48, true}, 1, isa_avx512_core, kernel);
    EXPECT_EQ(made.reason, "found 48 columns; expected a multiple of 32");
    EXPECT_EQ(make_jit_weighted_sum(
                      {t::s8, 64, 64, true}, 13, isa_avx512_core, kernel)
                      .reason,
            "found 13 rows; expected 12 at most");
    EXPECT_EQ(make_jit_weighted_sum({t::u4, 24, 24, true}, 1, isa_avx2, kernel)
                      .reason,
            "found 24 columns; expected a multiple of 16");
    EXPECT_EQ(make_jit_weighted_sum({t::s8, 64, 64, true}, 1, isa_none, kernel)
                      .reason,
            "no AVX2");
}

} // namespace

} // namespace dnnl_dequant

#endif
