// The generated passes of the softmax against the plain ones, bit for bit, and
// those against f64; pages behind the last row fault.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/convert.hpp"
#include "kernels/attention/softmax_rows.hpp"
#include "kernels/kernel_rows.hpp"
#include "support/dequantize_case.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {

namespace {

using support::guarded_buffer_t;

constexpr dim_t lanes = softmax_rows_t::lanes;

// Rows of scores that end where the last one's whole lanes do.
struct rows_t {
    dim_t rows, tokens, pitch;
    guarded_buffer_t scores;

    rows_t(dim_t row_count, dim_t token_count, dim_t gap)
        : rows(row_count)
        , tokens(token_count)
        , pitch(round_up(tokens, lanes) + gap)
        , scores(static_cast<size_t>(rows * pitch - gap) * sizeof(float)) {}

    float *row(dim_t r) const {
        return static_cast<float *>(scores.data()) + r * pitch;
    }
    softmax_rows_t::block_t block() const {
        return {row(0), pitch, rows, tokens};
    }
};

float any_score(support::random_t &random) {
    constexpr float odd[]
            = {NAN, INFINITY, -INFINITY, 0.f, -0.f, 1e30f, -1e30f, 1e-40f};
    const auto which = random.between(0, 60);
    if (which < 8) return odd[which];
    return static_cast<float>(random.between(-100000, 100000)) / 1024;
}

// Behind the tokens there are numbers that do not count.
void fill(const rows_t &to, support::random_t &random, bool is_odd) {
    for (dim_t r = 0; r < to.rows; ++r)
        for (dim_t t = 0; t < round_up(to.tokens, lanes); ++t) {
            float &score = to.row(r)[t];
            if (t >= to.tokens) score = t % 2 == 0 ? 1e38f : NAN;
            else if (is_odd) score = any_score(random);
            else score = static_cast<float>(random.between(-9000, 9000)) / 1024;
        }
}

void expect_same(const std::vector<float> &x, const std::vector<float> &y,
        const std::string &what) {
    for (size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(std::memcmp(&x[i], &y[i], sizeof(float)) == 0
                    || (std::isnan(x[i]) && std::isnan(y[i])))
                << what << " of row " << i << ": " << x[i] << ", plain "
                << y[i];
}

void compare(const softmax_rows_t &generated, dim_t rows, dim_t tokens,
        dim_t gap, bool is_odd) {
    support::random_t random(static_cast<uint64_t>(tokens * 10 + rows));
    const rows_t ours(rows, tokens, gap), plain(rows, tokens, gap);
    fill(ours, random, is_odd);
    std::memcpy(plain.scores.data(), ours.scores.data(), ours.scores.size());
    const auto reference = make_ref_softmax_rows();
    const auto count = static_cast<size_t>(rows);
    std::vector<float> found(count), expected(count), shifts(count);
    generated.find_magnitudes(ours.block(), found.data());
    reference->find_magnitudes(plain.block(), expected.data());
    expect_same(found, expected, "magnitude");
    generated.find_largest(ours.block(), found.data());
    reference->find_largest(plain.block(), expected.data());
    expect_same(found, expected, "largest");
    for (size_t r = 0; r < count; ++r)
        shifts[r] = std::isfinite(found[r]) ? -found[r] : 0.f;
    generated.weigh(ours.block(), shifts.data(), found.data());
    reference->weigh(plain.block(), shifts.data(), expected.data());
    expect_same(found, expected, "sum");
    for (dim_t r = 0; r < rows; ++r)
        expect_same({ours.row(r), ours.row(r) + tokens},
                {plain.row(r), plain.row(r) + tokens}, "weights");
}

void compare_packed(const softmax_rows_t &generated, dim_t rows, dim_t tokens,
        dim_t gap, bool is_odd) {
    support::random_t random(static_cast<uint64_t>(tokens * 10 + rows));
    const rows_t scores(rows, tokens, gap);
    fill(scores, random, is_odd);
    const auto reference = make_ref_softmax_rows();
    const auto count = static_cast<size_t>(rows);
    std::vector<float> shifts(count), sums(count), expected(count);
    generated.find_largest(scores.block(), shifts.data());
    for (float &shift : shifts)
        shift = shift == -INFINITY ? 0.f : -shift;
    const auto bytes = static_cast<size_t>(rows * tokens) * 2;
    const guarded_buffer_t ours(bytes), plain(bytes);
    generated.weigh_packed(
            scores.block(), shifts.data(), sums.data(), ours.data());
    reference->weigh_packed(
            scores.block(), shifts.data(), expected.data(), plain.data());
    expect_same(sums, expected, "sum");
    EXPECT_EQ(support::difference(data_type_t::bf16, ours.data(), plain.data(),
                      rows * tokens),
            "");
}

#if defined(__x86_64__)
TEST(softmax_rows, are_packed_as_plain_ones_are) {
    if (!has(isa_of_machine(), isa_avx512_core_bf16))
        GTEST_SKIP() << "no AVX512_BF16";
    std::shared_ptr<const softmax_rows_t> generated;
    ASSERT_TRUE(make_jit_softmax_rows(isa_avx512_core_bf16, generated).ok());
    ASSERT_TRUE(generated->packs());
    for (const dim_t tokens : {32, 64, 96, 512})
        for (const dim_t rows : {1, 2, 5, 32})
            for (const bool is_odd : {false, true})
                compare_packed(*generated, rows, tokens, rows * 3, is_odd);
}

TEST(softmax_rows, are_the_same_by_every_instruction_set) {
    for (const isa_t isa : {isa_avx2, isa_avx512_core}) {
        if (!has(isa_of_machine(), isa)) continue;
        std::shared_ptr<const softmax_rows_t> generated;
        ASSERT_TRUE(make_jit_softmax_rows(isa, generated).ok());
        for (dim_t tokens = 1; tokens <= 70; ++tokens)
            for (const dim_t rows : {1, 2, 5})
                for (const bool is_odd : {false, true}) {
                    compare(*generated, rows, tokens, rows * 3, is_odd);
                    if (HasFatalFailure()) return;
                }
        compare(*generated, 3, 512, 0, false);
    }
}
#endif

TEST(softmax_rows, are_refused_without_avx2) {
    std::shared_ptr<const softmax_rows_t> generated;
    EXPECT_FALSE(make_jit_softmax_rows(isa_none, generated).ok());
}

TEST(softmax_rows, give_what_f64_does) {
    support::random_t random(7);
    const auto softmax = make_ref_softmax_rows();
    for (const dim_t tokens : {1, 15, 16, 17, 100}) {
        const rows_t rows(2, tokens, 16);
        fill(rows, random, false);
        const std::vector<float> scores(rows.row(1), rows.row(1) + tokens);
        float largest[2], sums[2];
        softmax->find_largest(rows.block(), largest);
        EXPECT_EQ(largest[1], *std::max_element(scores.begin(), scores.end()));
        const float shifts[] = {-largest[0], -largest[1]};
        softmax->weigh(rows.block(), shifts, sums);
        double sum = 0;
        for (size_t t = 0; t < scores.size(); ++t) {
            const double weight = std::exp(double(scores[t]) - largest[1]);
            EXPECT_NEAR(rows.row(1)[t], weight, 2e-7);
            sum += weight;
        }
        EXPECT_NEAR(sums[1], sum, 1e-6 * sum);
    }
}

TEST(softmax_rows, that_are_packed_give_what_f64_does) {
    support::random_t random(8);
    const auto softmax = make_ref_softmax_rows();
    constexpr dim_t tokens = 64, row_count = 3;
    const rows_t rows(row_count, tokens, 16);
    fill(rows, random, false);
    std::array<float, row_count> largest, sums, shifts;
    softmax->find_largest(rows.block(), largest.data());
    for (size_t r = 0; r < largest.size(); ++r)
        shifts[r] = -largest[r];
    std::vector<uint16_t> packed(static_cast<size_t>(row_count * tokens));
    softmax->weigh_packed(
            rows.block(), shifts.data(), sums.data(), packed.data());
    constexpr dim_t chunk = softmax_rows_t::chunk;
    for (dim_t r = 0; r < row_count; ++r) {
        double sum = 0;
        for (dim_t t = 0; t < tokens; ++t) {
            const double weight = std::exp(
                    double(rows.row(r)[t]) + shifts[static_cast<size_t>(r)]);
            const dim_t place = (t / chunk * row_count + r) * chunk + t % chunk;
            const uint16_t bits = packed[static_cast<size_t>(place)];
            EXPECT_NEAR(bf16_to_f32(bits), weight, weight * 0x1.02p-8);
            sum += weight;
        }
        EXPECT_NEAR(sums[static_cast<size_t>(r)], sum, 1e-5 * sum);
    }
}

TEST(softmax_rows, have_magnitudes_of_what_counts) {
    const auto softmax = make_ref_softmax_rows();
    const rows_t rows(4, 3, 0);
    constexpr float last[] = {-7, -INFINITY, NAN, 1};
    for (dim_t r = 0; r < rows.rows; ++r)
        for (dim_t t = 0; t <= rows.tokens; ++t)
            rows.row(r)[t] = t == 2 ? last[r] : t == 3 ? INFINITY : 5;
    float magnitudes[4];
    softmax->find_magnitudes(rows.block(), magnitudes);
    EXPECT_EQ(magnitudes[0], 7);
    EXPECT_EQ(magnitudes[1], INFINITY);
    EXPECT_TRUE(std::isnan(magnitudes[2]));
    EXPECT_EQ(magnitudes[3], 5);
}

// There is no largest value among NaN and -infinity alone.
TEST(softmax_rows, pass_over_what_is_no_number) {
    const auto softmax = make_ref_softmax_rows();
    const rows_t rows(2, 3, 0);
    for (dim_t t = 0; t < 3; ++t)
        rows.row(0)[t] = rows.row(1)[t] = t == 1 ? NAN : -INFINITY;
    rows.row(1)[2] = -5;
    float largest[2];
    softmax->find_largest(rows.block(), largest);
    EXPECT_EQ(largest[0], -INFINITY);
    EXPECT_EQ(largest[1], -5);
}

} // namespace

} // namespace dnnl_dequant
