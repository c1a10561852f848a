// Rows of f32 as digits: what they stand for.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/isa.hpp"
#include "kernels/skinny_gemm/digit_rows.hpp"
#include "support/guarded_buffer.hpp"
#include "support/isa_of_machine.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

// A row, and its chunks, of one vector in order or of several.
class digit_rows : public testing::TestWithParam<std::pair<int, dim_t>> {
protected:
    void SetUp() override {
        if (!has(support::isa_of_machine(), isa_avx512_core_vnni))
            GTEST_SKIP() << "this machine lacks AVX-512 VNNI";
        std::tie(format_.vectors, format_.in_order) = GetParam();
        format_.depth = 3 * format_.elements();
        row_.resize(static_cast<size_t>(format_.depth));
        for (float &x : row_)
            x = static_cast<float>(random_.between(-1000000, 1000000)) / 777777;
    }

    float &element(dim_t k) { return row_[static_cast<size_t>(k)]; }

    // Makes all chunks, the last one first.
    void make() {
        const support::guarded_buffer_t from(row_.size() * sizeof(float));
        std::copy(row_.begin(), row_.end(), static_cast<float *>(from.data()));
        made_ = std::make_unique<support::guarded_buffer_t>(
                format_.row_bytes());
        for (dim_t chunk = format_.chunks(); chunk-- > 0;)
            format_.make_chunk(
                    static_cast<const float *>(from.data()), chunk, made());
        EXPECT_TRUE(std::equal(row_.begin(), row_.end(),
                format_.elements_of(made()), [](float x, float y) {
            return x == y || (std::isnan(x) && std::isnan(y));
        }));
    }
    char *made() const { return static_cast<char *>(made_->data()); }

    // The number that digits from `place` of a chunk stand for.
    double integer(dim_t k, size_t place) const {
        const dim_t chunk = k / format_.elements(), i = k % format_.elements();
        const auto *const digits
                = reinterpret_cast<const int8_t *>(made())
                  + static_cast<size_t>(chunk) * format_.chunk_bytes() + place;
        double sum = 0;
        for (int d = digit_rows_t::digits; d-- > 0;)
            sum = sum * 256
                  + digits[d * format_.elements()
                           + i % format_.vectors
                                     * static_cast<dim_t>(digit_rows_t::line)
                           + i / format_.vectors];
        return sum;
    }

    // Each element is what its digits stand for, but for a rest.
    void check() {
        make();
        for (dim_t chunk = 0; chunk < format_.chunks(); ++chunk)
            check_chunk(chunk);
    }

    void check_chunk(dim_t chunk) const {
        SCOPED_TRACE(chunk);
        const auto &about = format_.about(made(), chunk);
        double rests = 0, all = 0;
        std::vector<double> sums(digit_rows_t::lanes);
        const dim_t first = chunk * format_.elements();
        for (dim_t i = 0; i < format_.elements(); ++i) {
            const double x = row_[static_cast<size_t>(first + i)];
            double number = about.unit * integer(first + i, 0);
            EXPECT_LE(std::abs(x - number), about.unit / 2);
            if (about.has_rest != 0) {
                number += about.rest_unit
                          * integer(first + i, format_.digits_bytes());
                EXPECT_LE(std::abs(x - number), about.rest_unit / 2);
            }
            rests += std::abs(x - number);
            all += std::abs(x);
            if (format_.vectors > 1)
                sums[static_cast<size_t>(i / (4 * format_.vectors))] += number;
            else
                for (double &sum : sums)
                    sum += number;
        }
        EXPECT_LE(rests, all * 0x1p-20);
        for (size_t lane = 0; lane < sums.size(); ++lane)
            EXPECT_NEAR(about.sums[lane], sums[lane], all * 0x1p-22);
    }

    bool has_rest(dim_t chunk) const {
        return format_.about(made(), chunk).has_rest != 0;
    }

    digit_rows_t format_;
    std::vector<float> row_;
    support::random_t random_ {7};
    std::unique_ptr<support::guarded_buffer_t> made_;
};

TEST_P(digit_rows, have_24_bits) {
    check();
    for (dim_t chunk = 0; chunk < format_.chunks(); ++chunk)
        EXPECT_FALSE(has_rest(chunk));
}

TEST_P(digit_rows, keep_small_elements_next_to_a_large_one) {
    for (const float large : {260.f, 1100.f, 1.1e6f}) {
        element(format_.elements() + 5) = -large;
        check();
        EXPECT_TRUE(has_rest(1));
        EXPECT_FALSE(has_rest(0));
    }
}

// The greatest integer of three digits is 0x7f7f7f.
TEST_P(digit_rows, carry_into_the_next_digit) {
    for (const uint32_t bits : {0x7efeffu, 0x7f7f7eu, 0x7f7f7fu, 0x7f7f80u,
                 0x7f8080u, 0x7fffffu, 0x800000u})
        for (const float sign : {1.f, -1.f}) {
            element(0) = sign * static_cast<float>(2 * bits + 1);
            element(1) = sign * static_cast<float>(bits);
            element(2) = 0x808080;
            check();
        }
}

TEST_P(digit_rows, hold_zeros_and_the_ends_of_the_range) {
    std::fill(row_.begin(), row_.end(), 0.f);
    check();
    element(3) = std::numeric_limits<float>::denorm_min();
    element(format_.elements()) = std::numeric_limits<float>::min();
    element(format_.elements() + 1) = 3e-39f;
    element(2 * format_.elements()) = std::numeric_limits<float>::max() / 2;
    check();
    EXPECT_FALSE(has_rest(0));
    // Its integer may stand for 2^128. Sums that overflow are computed again.
    element(2 * format_.elements()) = std::numeric_limits<float>::max();
    make();
    EXPECT_FALSE(has_rest(2));
    EXPECT_TRUE(std::isfinite(format_.about(made(), 2).unit));
}

TEST_P(digit_rows, keep_rests_at_the_ends_of_the_range) {
    for (const int exponent : {-124, -110, -104, -103, -102, -90, 100, 123}) {
        for (dim_t k = 0; k < format_.depth; ++k)
            element(k) = std::ldexp(
                    static_cast<float>(random_.between(0, 1000000)) / 777777,
                    exponent - 8);
        element(1) = std::ldexp(1.1f, exponent + 4);
        check();
        EXPECT_TRUE(has_rest(0));
    }
    std::fill(row_.begin(), row_.end(), 3e38f);
    element(1) = 12345;
    make();
    EXPECT_FALSE(has_rest(0));
}

TEST_P(digit_rows, say_what_is_not_finite) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float x : {infinity, -infinity, std::nanf("")}) {
        element(format_.depth - 1) = x;
        make();
        EXPECT_TRUE(std::isnan(format_.about(made(), 2).unit));
        EXPECT_FALSE(std::isnan(format_.about(made(), 1).unit));
    }
}

INSTANTIATE_TEST_SUITE_P(every, digit_rows,
        testing::Values(std::pair<int, dim_t>(2, 0),
                std::pair<int, dim_t>(4, 0), std::pair<int, dim_t>(1, 32),
                std::pair<int, dim_t>(1, 64), std::pair<int, dim_t>(1, 128)));

} // namespace
} // namespace dnnl_dequant

#endif
