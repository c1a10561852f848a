// The generated kernels of attention against plain loops, bit for bit, with
// pages behind keys and values that fault.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/convert.hpp"
#include "kernels/attention/digits.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/row_blocks.hpp"
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

using vector_t = std::array<float, 16>;

// A row's digits by plain loops.
struct row_of_digits_t {
    std::vector<int8_t> digits;
    std::vector<digits_part_t> parts;
};

row_of_digits_t empty_row(const digits_format_t &format) {
    row_of_digits_t row;
    row.digits.resize(static_cast<size_t>(format.row_bytes()));
    row.parts.resize(static_cast<size_t>(format.parts()));
    return row;
}

// The byte of a number's least digit; the next ones follow in steps of a chunk.
size_t place_of(const digits_format_t &format, dim_t k) {
    const dim_t halves = format.numbers_a_byte(), byte = k / halves;
    const dim_t vector = byte / format.chunk * halves + k % halves;
    return static_cast<size_t>(
            vector * format.digits * format.chunk + byte % format.chunk);
}

dim_t part_of(const digits_format_t &format, dim_t k) {
    return format.has_groups() ? k / format.numbers_a_byte() / format.chunk : 0;
}

size_t lane_of(const digits_format_t &format, dim_t k) {
    return static_cast<size_t>(k / format.numbers_a_byte() % format.chunk / 4);
}

float add_up(const vector_t &lanes) {
    std::array<float, 4> quarters {};
    for (size_t q = 0; q < 4; ++q)
        quarters[q] = (lanes[4 * q] + lanes[4 * q + 2])
                      + (lanes[4 * q + 1] + lanes[4 * q + 3]);
    return (quarters[0] + quarters[1]) + (quarters[2] + quarters[3]);
}

row_of_digits_t plain_digits(const digits_format_t &format, const float *query,
        const float *scales, const float *zps) {
    row_of_digits_t made = empty_row(format);
    std::vector<float> row(query, query + format.head);
    float largest = 0;
    for (size_t k = 0; k < row.size(); ++k) {
        if (format.by_number) row[k] *= scales[k];
        largest = std::max(largest, std::abs(row[k]));
    }
    const double unit = largest > 0 ? std::ldexp(127., 8 * (format.digits - 1))
                                              / static_cast<double>(largest)
                                    : 0;
    std::vector<std::array<double, 16>> totals(made.parts.size());
    double all = 0;
    vector_t of_zps {};
    for (dim_t k = 0; k < format.head; ++k) {
        auto number = static_cast<int32_t>(std::nearbyint(
                static_cast<double>(row[static_cast<size_t>(k)]) * unit));
        const auto part = static_cast<size_t>(part_of(format, k));
        const size_t lane = lane_of(format, k);
        totals[part][lane] += number;
        all += number;
        if (format.by_number && format.has_zps) {
            // Sixteen numbers with the same remainder at a time.
            const auto at
                    = static_cast<size_t>(k / format.numbers_a_byte() % 16);
            of_zps[at]
                    = std::fma(static_cast<float>(number), zps[k], of_zps[at]);
        }
        for (int d = 0; d < format.digits; ++d) {
            const int32_t digit = ((number + 128) & 255) - 128;
            number = (number - digit) / 256;
            made.digits[place_of(format, k)
                        + static_cast<size_t>(d * format.chunk)]
                    = static_cast<int8_t>(digit);
            made.parts[part].begins[static_cast<size_t>(d)][lane]
                    -= digit * format.bias();
        }
    }
    if (format.by_number && format.has_zps) {
        all = 0;
        for (const float sum : of_zps)
            all += static_cast<double>(sum);
    }
    for (size_t part = 0; part < made.parts.size(); ++part) {
        made.parts[part].norm = largest * (128.f / 127);
        for (size_t lane = 0; lane < 16; ++lane)
            made.parts[part].totals[lane] = static_cast<float>(
                    format.has_groups() ? totals[part][lane] : all);
    }
    return made;
}

row_of_digits_t make_digits(const digits_kernel_t &kernel,
        const digits_format_t &format, const float *query,
        const float *scales = nullptr, const float *zps = nullptr) {
    row_of_digits_t made = empty_row(format);
    std::vector<float> scaled(
            static_cast<size_t>(digits_kernel_t::scaled_count(format)));
    kernel.make_digits({query, scales, zps, made.digits.data(),
            made.parts.data(), scaled.data()});
    return made;
}

void expect_equal(const row_of_digits_t &x, const row_of_digits_t &y) {
    ASSERT_EQ(x.digits, y.digits);
    for (size_t part = 0; part < x.parts.size(); ++part) {
        ASSERT_EQ(x.parts[part].begins, y.parts[part].begins);
        ASSERT_EQ(x.parts[part].totals, y.parts[part].totals);
        ASSERT_EQ(x.parts[part].norm, y.parts[part].norm);
    }
}

// True if all of a token's integers are added up before they become f32. So it
// is for three or four rows at once, and where a token has 64 bytes at most.
bool adds_up_integers(const digits_format_t &format, dim_t rows, dim_t row) {
    bool adds = format.chunks() == 1;
    for_row_blocks(rows, 4, [&](dim_t first, dim_t count) {
        if (row >= first && row < first + count) adds |= count >= 3;
    });
    return adds && !format.has_groups();
}

// A row's score with a token, whose scales and zero points are its own.
float score_of(const digits_format_t &format, const row_of_digits_t &row,
        const char *key, const float *scales, const float *zps,
        bool adds_integers = false) {
    std::vector<std::array<std::array<int32_t, 16>, 3>> sums(row.parts.size());
    for (dim_t k = 0; k < format.head; ++k)
        for (int d = 0; d < format.digits; ++d)
            sums[static_cast<size_t>(part_of(format, k))]
                [static_cast<size_t>(d)][lane_of(format, k)]
                    += number_at(format.type, key, k)
                       * row.digits[place_of(format, k)
                                    + static_cast<size_t>(d * format.chunk)];
    vector_t lanes {};
    for (size_t part = 0; part < sums.size(); ++part)
        for (size_t i = 0; i < 16; ++i) {
            const auto &sum = sums[part];
            auto lane = static_cast<float>(sum[0][i] + sum[1][i] * 256);
            if (format.digits == 3)
                lane = std::fma(static_cast<float>(sum[2][i]), 65536.f, lane);
            if (format.has_groups()) {
                const dim_t first = (static_cast<dim_t>(part) * format.chunk
                                            + static_cast<dim_t>(i) * 4)
                                    * format.numbers_a_byte();
                const dim_t group
                        = std::min(first / format.group, format.groups() - 1);
                if (format.has_zps)
                    lane = std::fma(
                            -zps[group], row.parts[part].totals[i], lane);
                lane = part == 0 ? lane * scales[group]
                                 : std::fma(lane, scales[group], lanes[i]);
            }
            lanes[i] = lane;
        }
    float x = add_up(lanes);
    for (int d = 0; d < format.digits && adds_integers; ++d) {
        const auto &lanes_of_digit = sums[0][static_cast<size_t>(d)];
        const auto sum = static_cast<float>(std::accumulate(
                lanes_of_digit.begin(), lanes_of_digit.end(), 0));
        x = d == 0 ? sum : std::fma(sum, std::ldexp(1.f, 8 * d), x);
    }
    const digits_part_t &part = row.parts[0];
    const bool by_token = !format.has_groups() && !format.by_number;
    if (format.has_zps && format.by_number) x -= part.totals[0];
    if (format.has_zps && by_token) x = std::fma(-zps[0], part.totals[0], x);
    x *= std::ldexp(1.f, 1 - 8 * format.digits);
    x *= part.norm;
    return by_token ? x * scales[0] : x;
}

void check_digits(const digits_format_t &format, dim_t rows, dim_t groups) {
    support::random_t random(static_cast<uint64_t>(format.head * 100 + rows));
    const dim_t tokens = groups * digits_kernel_t::tokens_at_once;
    std::shared_ptr<const digits_kernel_t> kernel;
    const auto result = make_jit_digits(format, rows, isa_of_machine(), kernel);
    ASSERT_TRUE(result.ok()) << result.reason;
    const auto keys = any_numbers(
            random, format.type, tokens, format.pitch, format.key_bytes());
    const auto query = any_floats(random, rows * format.head);
    // Up to a vector more is read.
    const dim_t count
            = format.by_number ? format.head : tokens * format.groups() + 15;
    const auto scales = any_floats(random, count),
               zps = any_floats(random, count);
    std::vector<row_of_digits_t> made;
    std::vector<int8_t> digits;
    std::vector<digits_part_t> parts;
    for (dim_t r = 0; r < rows; ++r) {
        made.push_back(make_digits(*kernel, format,
                query.data() + r * format.head, scales.data(), zps.data()));
        expect_equal(made.back(),
                plain_digits(format, query.data() + r * format.head,
                        scales.data(), zps.data()));
        digits.insert(digits.end(), made.back().digits.begin(),
                made.back().digits.end());
        parts.insert(parts.end(), made.back().parts.begin(),
                made.back().parts.end());
    }
    guarded_buffer_t sums(
            static_cast<size_t>(4 * digits_kernel_t::sum_count(rows)));
    std::vector<float> scores(static_cast<size_t>(rows * tokens));
    vector_t zeros {};
    kernel->run(rows, {keys.data(), digits.data(), parts.data(), scales.data(),
                              zps.data(), scores.data(), tokens * 4, groups,
                              static_cast<float *>(sums.data()), zeros.data()});
    ASSERT_EQ(zeros, vector_t {});
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t token = 0; token < tokens; ++token) {
            const dim_t at = token * format.groups();
            ASSERT_EQ(scores[static_cast<size_t>(r * tokens + token)],
                    score_of(format, made[static_cast<size_t>(r)],
                            static_cast<const char *>(keys.data())
                                    + token * format.pitch,
                            scales.data() + at, zps.data() + at,
                            adds_up_integers(format, rows, r)))
                    << to_string(format.type) << " head " << format.head
                    << " group " << format.group << " by number "
                    << format.by_number << " row " << r << " of " << rows
                    << " token " << token;
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
                format.by_number = true;
                check_digits(format, rows, 1 + rows % 2);
                format.by_number = false;
                for (const dim_t group : {8, 16, 24, 32, 64, 128}) {
                    format.group = group;
                    if (!format.has_groups() || format.groups() > 16) continue;
                    check_digits(format, rows, 1 + rows % 2);
                }
                if (HasFatalFailure()) return;
            }
}

// A score that is not finite, of any token and row, is told.
TEST(attention_digits, tell_of_what_is_not_finite) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    constexpr dim_t rows = 2, tokens = 48;
    const digits_format_t format {t::s8, 16, 16, 3};
    std::shared_ptr<const digits_kernel_t> kernel;
    ASSERT_TRUE(make_jit_digits(format, rows, isa_of_machine(), kernel).ok());
    std::vector<int8_t> keys(tokens * 16, 1), digits;
    for (const float size : {1.f, 1e38f})
        for (const float scale : {-1.f, 1e10f})
            for (dim_t token = 0; token < tokens; ++token)
                for (dim_t row = 0; row < rows; ++row) {
                    std::vector<digits_part_t> parts;
                    digits.clear();
                    for (dim_t r = 0; r < rows; ++r) {
                        const std::vector<float> query(
                                16, r == row ? size : 1.f);
                        const auto made
                                = make_digits(*kernel, format, query.data());
                        digits.insert(digits.end(), made.digits.begin(),
                                made.digits.end());
                        parts.push_back(made.parts[0]);
                    }
                    guarded_buffer_t sums(static_cast<size_t>(
                            4 * digits_kernel_t::sum_count(rows)));
                    std::vector<float> scores(rows * tokens),
                            scales(tokens, 1e-10f);
                    scales[static_cast<size_t>(token)] = scale;
                    vector_t zeros {};
                    kernel->run(
                            rows, {keys.data(), digits.data(), parts.data(),
                                          scales.data(), nullptr, scores.data(),
                                          tokens * 4, tokens / 16,
                                          static_cast<float *>(sums.data()),
                                          zeros.data()});
                    const auto is_finite
                            = [](float x) { return std::isfinite(x); };
                    ASSERT_EQ(zeros == vector_t {},
                            std::all_of(
                                    scores.begin(), scores.end(), is_finite))
                            << size << " by " << scale << ", token " << token
                            << ", row " << row;
                }
}

// Digits alone need a kernel too.
std::shared_ptr<const digits_kernel_t> digits_of(
        const digits_format_t &format) {
    std::shared_ptr<const digits_kernel_t> kernel;
    const auto result = make_jit_digits(format, 1, isa_of_machine(), kernel);
    EXPECT_TRUE(result.ok()) << result.reason;
    return kernel;
}

TEST(attention_digits, stand_for_the_query) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    support::random_t random(1);
    for (const t type : types)
        for (const int count : {2, 3}) {
            const digits_format_t format {type, 100, 100, count};
            const auto query = any_floats(random, format.head);
            const auto kernel = digits_of(format);
            ASSERT_TRUE(kernel);
            const auto row = make_digits(*kernel, format, query.data());
            // A key of one number alone.
            const float one = 1;
            for (dim_t k = 0; k < format.head; ++k) {
                std::vector<char> key(static_cast<size_t>(format.head));
                if (bits_of(type) == 8) key[static_cast<size_t>(k)] = 1;
                else
                    key[static_cast<size_t>(k / 2)]
                            = static_cast<char>(1 << k % 2 * 4);
                EXPECT_NEAR(score_of(format, row, key.data(), &one, nullptr),
                        query[static_cast<size_t>(k)],
                        4 * std::ldexp(1.01, 1 - 8 * count));
            }
        }
}

TEST(attention_digits, of_what_is_not_finite_are_nan) {
    if (!has(isa_of_machine(), isa_avx512_core_vnni))
        GTEST_SKIP() << "no AVX-512 VNNI";
    const digits_format_t format {t::s8, 20, 20, 3};
    const auto kernel = digits_of(format);
    ASSERT_TRUE(kernel);
    for (const float odd : {INFINITY, -INFINITY, NAN, 0.f}) {
        std::vector<float> query(20, 0.f);
        query[7] = odd;
        const auto row = make_digits(*kernel, format, query.data());
        EXPECT_EQ(std::isnan(row.parts[0].norm), odd != 0.f);
    }
}

TEST(attention_digits, refuse_what_they_do_not_take) {
    std::shared_ptr<const digits_kernel_t> kernel;
    const auto reason = [&](const digits_format_t &format, isa_t isa) {
        return make_jit_digits(format, 1, isa, kernel).reason;
    };
    digits_format_t format {t::s8, 520, 520, 3};
    EXPECT_EQ(reason(format, isa_avx512_core_vnni),
            "a token has 520 bytes; expected 512 at most");
    format.head = format.pitch = 128;
    EXPECT_EQ(reason(format, isa_avx2), "no AVX-512 VNNI");
    format.group = 4;
    EXPECT_EQ(reason(format, isa_avx512_core_vnni),
            "a token has 32 groups; expected 16 at most");
    format.group = 18;
    EXPECT_EQ(reason(format, isa_avx512_core_vnni),
            "groups have 18 numbers; expected a multiple of 4");
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

// The same where groups of a token's numbers have scales and zero points of
// their own, which nothing is readable behind.
void check_groups(
        const weighted_values_t &values, dim_t rows, dim_t tokens, isa_t isa) {
    support::random_t random(
            static_cast<uint64_t>(values.group_cols * 100 + rows));
    std::shared_ptr<const weighted_sum_t> kernel;
    const auto made = make_jit_weighted_sum(values, rows, isa, kernel);
    ASSERT_TRUE(made.ok()) << made.reason;
    const auto numbers = any_numbers(random, values.type, tokens, values.pitch,
            bytes_of(values.type, values.cols));
    const auto weights = any_floats(random, rows * tokens);
    const dim_t groups = div_up(values.cols, values.group_cols);
    const auto guarded = [&] {
        guarded_buffer_t buffer(static_cast<size_t>(tokens * groups * 4));
        const auto floats = any_floats(random, tokens * groups);
        std::memcpy(buffer.data(), floats.data(), buffer.size());
        return buffer;
    };
    const auto scale_buffer = guarded(), zp_buffer = guarded();
    const auto *const scales = static_cast<const float *>(scale_buffer.data());
    const auto *const zps = static_cast<const float *>(zp_buffer.data());
    std::vector<float> sums(static_cast<size_t>(rows * values.cols));
    const weighted_sum_t::block_t block {numbers.data(), weights.data(), zps,
            sums.data(), tokens * 4, values.cols * 4, tokens, scales,
            groups * 4,
            next_rows(numbers.data(), values.pitch,
                    bytes_of(values.type, values.cols), 0)};
    kernel->run(rows, block);
    kernel->put_in_order(rows, block);
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t c = 0; c < values.cols; ++c) {
            float sum = 0;
            double exact = 0, magnitude = 0;
            for (dim_t token = 0; token < tokens; ++token) {
                const dim_t at = token * groups + c / values.group_cols;
                float x = static_cast<float>(number_at(values.type,
                        static_cast<const char *>(numbers.data())
                                + token * values.pitch,
                        c));
                if (values.has_zp) x -= zps[at];
                x *= scales[at];
                if (values.rounded == t::bf16) x = bf16_to_f32(f32_to_bf16(x));
                if (values.rounded == t::f16) x = f16_to_f32(f32_to_f16(x));
                const float weight
                        = weights[static_cast<size_t>(r * tokens + token)];
                sum = std::fma(x, weight, sum);
                exact += double(x) * weight;
                magnitude += std::fabs(double(x) * weight);
            }
            // In place the weight is scaled, which rounds otherwise.
            const float got = sums[static_cast<size_t>(r * values.cols + c)];
            const double off = values.in_place ? magnitude * std::exp2(-20) : 0;
            ASSERT_NEAR(got, values.in_place ? exact : double(sum), off)
                    << to_string(values.type) << " columns " << values.cols
                    << " group " << values.group_cols << " row " << r << " of "
                    << rows << " column " << c;
        }
}

class weighted_sum : public testing::TestWithParam<isa_t> {};

TEST_P(weighted_sum, scales_groups_of_columns) {
    const isa_t isa = GetParam();
    if (!has(isa_of_machine(), isa)) GTEST_SKIP() << "no such instructions";
    const bool is_avx512 = isa == isa_avx512_core;
    for (const t type : types)
        for (const dim_t cols : {32, 96, 128, 256})
            for (const dim_t group : {8, 12, 16, 24, 32, 40, 48, 64, 128})
                for (dim_t rows = 1; rows <= weighted_sum_t::most_rows;
                        rows += 1 + group % 3) {
                    const bool is_whole = bits_of(type) == 8 ? group % 8 == 0
                                                             : group % 16 == 0;
                    if (!is_avx512 && !is_whole) continue;
                    weighted_values_t values {type,
                            bytes_of(type, cols) + rows % 3 * 8, cols,
                            rows % 2 == 0};
                    values.by_token = true;
                    values.group_cols = group;
                    check_groups(values, rows, 1 + rows * 3, isa);
                    for (const t rounded : {t::bf16, t::f16}) {
                        values.rounded = rounded;
                        check_groups(values, rows, 1 + rows * 3, isa);
                        if (HasFatalFailure()) return;
                    }
                    if (is_avx512) continue;
                    values.prefetches_next = true;
                    check_groups(values, rows, 1 + rows * 3, isa);
                    values.in_place = bits_of(type) <= 4 && is_integer(type)
                                      && values.rounded == t::f32;
                    check_groups(values, rows, 1 + rows * 3, isa);
                    if (HasFatalFailure()) return;
                }
}

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
    weighted_values_t values {t::s8, 64, 64, true};
    values.by_token = true;
    values.group_cols = 4;
    EXPECT_EQ(make_jit_weighted_sum(values, 1, isa_avx512_core, kernel).reason,
            "groups have 4 columns; expected 8 or more");
    values.group_cols = 12;
    EXPECT_EQ(make_jit_weighted_sum(values, 1, isa_avx2, kernel).reason,
            "groups have 12 columns; expected a multiple of 8");
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
