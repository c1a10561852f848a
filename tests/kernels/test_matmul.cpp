// kernels/matmul: few rows, on values whose sums are exact.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/isa.hpp"
#include "kernels/exact_floats.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/matmul/gemv.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using t = data_type_t;
using support::guarded_buffer_t;
using support::random_t;

struct gemv_case_t {
    gemv_weights_t weights;
    dim_t rows = 1;
    isa_t isa = isa_of_machine();
};

// Operands of the weights' problem: weights, scales, zero points; these as
// f32 are made here.
class gemv_case_run_t {
public:
    explicit gemv_case_run_t(const gemv_case_t &c)
        : w_(c.weights)
        , rows_(c.rows)
        , stored_(static_cast<size_t>(bytes_of(w_.type,
                  (w_.by_column ? w_.cols - 1 : w_.depth - 1) * w_.pitch
                          + (w_.by_column ? w_.depth : w_.cols)))) {
        support::fill_integers(
                w_.type, stored_.data(), stored_.size(), random_);
    }

    void check(const gemv_t &gemv) {
        make_values();
        const std::vector<float> c = run(gemv);
        for (dim_t r = 0; r < rows_; ++r)
            for (dim_t n = 0; n < w_.cols; ++n)
                ASSERT_EQ(c[at(r * w_.cols + n)], expected(r, n))
                        << "at " << r << ", " << n;
    }

    // On any values: the sum of all squared errors is no more than that of
    // weights made f32 first and summed in order.
    void check_errors(const gemv_t &gemv) {
        make_values();
        for (float &value : src_)
            value += static_cast<float>(random_.between(-1000, 1000)) / 777;
        for (float &scale : scales_)
            scale *= 1 + static_cast<float>(random_.between(0, 999)) / 1234;
        const std::vector<float> c = run(gemv);
        double errors = 0, errors_in_order = 0;
        for (dim_t r = 0; r < rows_; ++r)
            for (dim_t n = 0; n < w_.cols; ++n) {
                double sum = 0;
                float in_order = 0;
                for (dim_t k = 0; k < w_.depth; ++k) {
                    const double weight = weight_at(k, n);
                    const float x = src_[at(r * w_.depth + k)];
                    sum += weight * static_cast<double>(x);
                    in_order
                            = std::fma(static_cast<float>(weight), x, in_order);
                }
                errors += std::pow(
                        static_cast<double>(c[at(r * w_.cols + n)]) - sum, 2);
                errors_in_order
                        += std::pow(static_cast<double>(in_order) - sum, 2);
            }
        EXPECT_LE(errors, errors_in_order);
    }

    // A scale's NaN, whatever its payload, is every sum's.
    void check_nan(const gemv_t &gemv) {
        make_values();
        const bool is_bf16 = w_.scales.type == t::bf16;
        const uint32_t nan = is_bf16 ? 0x7fff0000u : 0x7fffffffu;
        for (float &scale : scales_)
            std::memcpy(&scale, &nan, sizeof(nan));
        for (const float sum : run(gemv))
            ASSERT_TRUE(std::isnan(sum)) << sum;
    }

private:
    // rows x columns
    std::vector<float> run(const gemv_t &gemv) {
        const dim_t pitch = (w_.depth + 255) / 128 * 128;
        // The last row, where it is not arranged, ends at a guard page.
        const dim_t last = gemv.src_unit() != 1 ? pitch : w_.depth;
        const floats_t a((rows_ - 1) * pitch + last);
        for (dim_t r = 0; r < rows_; ++r) {
            std::copy_n(
                    &src_[at(r * w_.depth)], w_.depth, a.data() + r * pitch);
            if (gemv.src_unit() != 1) gemv.arrange(a.data() + r * pitch);
        }
        const dim_t c_pitch = w_.cols + 64;
        std::vector<float> c(at(rows_ * c_pitch));
        std::vector<float> partial(c.size() * at(gemv.partial_floats()));
        // They end at guard pages, too.
        const dim_t parameters
                = gemv.parameters_by_column()
                          ? (w_.cols + gemv_t::columns_beyond) * w_.groups()
                          : (w_.groups() - 1) * c_pitch + w_.cols;
        const floats_t scales(parameters), zps(parameters);
        place(gemv, c_pitch, scales.data(), zps.data());
        void *const buffers[] = {stored_.data()};
        gemv.run(
                buffers, {a.data(), c.data(), partial.data(), pitch, c_pitch,
                                 rows_, 0, w_.cols, scales.data(), zps.data()});
        std::vector<float> dense;
        for (dim_t r = 0; r < rows_; ++r)
            dense.insert(dense.end(), c.begin() + r * c_pitch,
                    c.begin() + r * c_pitch + w_.cols);
        return dense;
    }

    static size_t at(dim_t i) { return static_cast<size_t>(i); }

    void make_values() {
        src_.resize(at(rows_ * w_.depth));
        fill_small(src_.data(), rows_ * w_.depth, random_);
        scales_.resize(at(w_.groups() * w_.cols));
        zps_.resize(scales_.size());
        const bool is_u8 = w_.zps.type == t::u8;
        const dim_t least = w_.zps.type == t::s16 ? -300 : is_u8 ? 0 : -128;
        for (float &zp : zps_)
            zp = static_cast<float>(random_.between(least, is_u8 ? 255 : 127));
        for (float &scale : scales_)
            scale = static_cast<float>(
                    std::exp2(static_cast<double>(random_.between(-2, 1))));
        if (w_.zps.type == t::undef) std::fill(zps_.begin(), zps_.end(), 0.f);
    }

    void place(const gemv_t &gemv, dim_t c_pitch, float *scales,
            float *zps) const {
        for (dim_t g = 0; g < w_.groups(); ++g)
            for (dim_t n = 0; n < w_.cols; ++n) {
                const dim_t to = gemv.parameters_by_column()
                                         ? n * w_.groups() + g
                                         : g * c_pitch + n;
                scales[to] = scales_[at(g * w_.cols + n)];
                zps[to] = zps_[at(g * w_.cols + n)];
            }
    }

    double weight_at(dim_t k, dim_t n) const {
        const size_t p = at(k / w_.group * w_.cols + n);
        const auto q = static_cast<double>(
                support::integer_at(w_.type, stored_.data(),
                        w_.by_column ? n * w_.pitch + k : k * w_.pitch + n));
        return (q - static_cast<double>(zps_[p]))
               * static_cast<double>(scales_[p]);
    }

    float expected(dim_t r, dim_t n) const {
        double sum = 0;
        const auto &format = support::format_of(w_.rounded);
        for (dim_t k = 0; k < w_.depth; ++k)
            sum += support::value_of(
                           format, support::round_to(format, weight_at(k, n)))
                   * static_cast<double>(src_[at(r * w_.depth + k)]);
        return static_cast<float>(sum);
    }

    const gemv_weights_t w_;
    const dim_t rows_;
    random_t random_ {7};
    guarded_buffer_t stored_;
    std::vector<float> src_, scales_, zps_;
};

void check_gemv(const gemv_case_t &c) {
    std::shared_ptr<const gemv_t> gemv;
    const result_t made = make_gemv(c.weights, c.rows, c.isa, gemv);
    // There is more by blocks: gemv_of_avx2 says what.
    if (!made.ok() && c.isa == isa_avx2) return;
    ASSERT_TRUE(made.ok()) << made.reason;
    SCOPED_TRACE(testing::Message()
                 << to_string(c.weights.type) << ", rounded to "
                 << to_string(c.weights.rounded) << ", zps "
                 << to_string(c.weights.zps.type) << ", by column "
                 << c.weights.by_column << ", " << c.rows << " rows, "
                 << c.weights.depth << " x " << c.weights.cols << ", groups of "
                 << c.weights.group);
    gemv_case_run_t(c).check(*gemv);
}

class gemv : public testing::TestWithParam<std::tuple<isa_t, t>> {
protected:
    void SetUp() override {
        if (!has(isa_of_machine(), isa()))
            GTEST_SKIP() << "this machine lacks the instructions";
    }

    static isa_t isa() { return std::get<0>(GetParam()); }
    static t type() { return std::get<1>(GetParam()); }
    static bool is_avx2() { return isa() == isa_avx2; }
    // Of every number of rows, with and without zero points and rounding.
    void check(bool by_column, dim_t depth, dim_t cols, dim_t group) {
        for (dim_t rows = 1; rows <= gemv_t::most_rows; ++rows) {
            gemv_case_t c;
            c.rows = rows;
            c.isa = isa();
            gemv_weights_t &w = c.weights;
            w.type = type();
            w.by_column = by_column;
            w.depth = depth;
            w.cols = cols;
            w.pitch = (by_column ? depth + depth % 2 : cols) + 2 * (rows % 3);
            w.group = std::min(group, depth);
            w.scales.type = rows % 2 ? t::f32 : t::bf16;
            const t zps[] = {t::u8, t::s16, t::undef, t::s8};
            w.zps.type = zps[rows % 4];
            w.rounded = rows % 3 == 0   ? t::bf16
                        : rows % 3 == 1 ? t::f32
                                        : t::f16;
            check_gemv(c);
            if (HasFatalFailure()) return;
            // What nobody rounds takes ways of its own, by every zero point,
            // and so does one row.
            for (const t rounded : {t::f32, t::bf16, t::f16})
                for (const dim_t z : {rows + 1, rows + 2}) {
                    if (rounded != t::f32 && rows > 1) continue;
                    w.rounded = rounded;
                    w.zps.type = zps[z % 4];
                    check_gemv(c);
                    if (HasFatalFailure()) return;
                }
        }
    }
};

TEST_P(gemv, multiplies_columns_side_by_side) {
    for (const dim_t depth : {1, 100})
        for (const dim_t cols : {32, 64, 96, 128, 192, 256})
            for (const dim_t group : {1000, 48, 8})
                check(false, depth, cols, group);
}

TEST_P(gemv, multiplies_columns_one_after_the_other) {
    for (const dim_t depth : {1, 40, 127, 130, 300})
        for (const dim_t cols : {1, 3, 9})
            for (const dim_t group : {1000, 128, 64, 32})
                check(true, depth, cols, group);
    // Longer than what src is cut into.
    for (const dim_t group : {5000, 128})
        check(true, 2080, 3, group);
}

// What it is that takes weights of 128 x 128 on AVX2, or why nothing does.
std::string taker_on_avx2(const gemv_weights_t &weights, dim_t rows) {
    std::shared_ptr<const gemv_t> made;
    const result_t result = make_gemv(weights, rows, isa_avx2, made);
    return result.ok() ? made->name() : result.reason;
}

#if defined(__x86_64__)
TEST(gemv_of_avx2, leaves_the_rest_to_blocks) {
    const std::string by_row = "jit_matmul_few_rows_avx2",
                      turned = "jit_matmul_turned_avx2",
                      by_column = "jit_matmul_dot_avx2";
    const std::string too_many = "there are too many rows",
                      no_tiles = "weights are not in whole tiles of nibbles";
    gemv_weights_t w;
    w.type = t::u4;
    w.depth = w.cols = w.pitch = w.group = 128;
    w.scales.type = t::f32;
    EXPECT_EQ(taker_on_avx2(w, 3), by_row);
    EXPECT_EQ(taker_on_avx2(w, 8), turned);
    EXPECT_EQ(taker_on_avx2(w, 9), too_many);
    w.rounded = t::bf16;
    EXPECT_EQ(taker_on_avx2(w, 1), by_row);
    EXPECT_EQ(taker_on_avx2(w, 2), turned);
    w.cols = w.pitch = 96;
    EXPECT_EQ(taker_on_avx2(w, 1), by_row);
    EXPECT_EQ(taker_on_avx2(w, 2), no_tiles);
    w.by_column = true;
    w.pitch = 128;
    EXPECT_EQ(taker_on_avx2(w, 8), by_column);
    EXPECT_EQ(taker_on_avx2(w, 9), too_many);
    w.rounded = t::f16;
    EXPECT_EQ(taker_on_avx2(w, 4), by_column);
    EXPECT_EQ(taker_on_avx2(w, 5), too_many);
    w.depth = 192;
    w.group = 48;
    EXPECT_EQ(taker_on_avx2(w, 1), "groups are not in whole vectors");
    w.by_column = false;
    w.cols = w.pitch = 128;
    EXPECT_EQ(taker_on_avx2(w, 1), by_row);
    w.by_column = true;
    w.pitch = 192;
    w.cols = 96;
    w.type = t::s8;
    EXPECT_EQ(taker_on_avx2(w, 8), by_column);
    w.by_column = false;
    EXPECT_EQ(taker_on_avx2(w, 1), by_row);
    EXPECT_EQ(taker_on_avx2(w, 2), no_tiles);
}
#endif

// Those of 4 bits that are rounded are transposed in cache.
TEST_P(gemv, multiplies_whole_tiles) {
    for (const dim_t depth : {128, 256})
        for (const dim_t group : {1000, 128})
            check(false, depth, 256, group);
    check(false, 384, 128, 256);
    // Longer than what is transposed at once, and a last group that is not.
    for (const dim_t group : {1000, 96, 32})
        check(false, 352, 64, group);
    gemv_weights_t w;
    w.type = type();
    w.depth = w.cols = w.pitch = w.group = 128;
    w.scales.type = w.rounded = t::bf16;
    std::shared_ptr<const gemv_t> made;
    const result_t result = make_gemv(w, 2, isa(), made);
    ASSERT_EQ(result.ok(), !is_avx2() || bits_of(w.type) == 4);
    if (!result.ok()) return;
    EXPECT_EQ(std::string(made->name()).find("turned") != std::string::npos,
            bits_of(w.type) == 4);
}

TEST_P(gemv, errs_no_more_than_sums_in_order) {
    for (const bool by_column : {false, true}) {
        gemv_case_t c;
        c.rows = 2;
        gemv_weights_t &w = c.weights;
        w.type = type();
        w.by_column = by_column;
        w.depth = 2048;
        w.cols = 128;
        w.pitch = by_column ? w.depth : w.cols;
        w.group = 128;
        w.scales.type = t::f32;
        w.zps.type = t::s8;
        std::shared_ptr<const gemv_t> made;
        ASSERT_TRUE(make_gemv(w, c.rows, isa(), made).ok());
        SCOPED_TRACE(made->name());
        gemv_case_run_t(c).check_errors(*made);
    }
}

TEST_P(gemv, keeps_nan) {
    for (const bool by_column : {false, true})
        for (const t scales : {t::f32, t::bf16})
            for (const t rounded : {t::f32, t::bf16, t::f16}) {
                gemv_case_t c;
                gemv_weights_t &w = c.weights;
                w.type = type();
                w.by_column = by_column;
                w.depth = w.cols = w.pitch = w.group = 128;
                w.scales.type = scales;
                w.zps.type = t::s8;
                w.rounded = rounded;
                std::shared_ptr<const gemv_t> made;
                ASSERT_TRUE(make_gemv(w, c.rows, isa(), made).ok());
                SCOPED_TRACE(made->name());
                gemv_case_run_t(c).check_nan(*made);
            }
}

INSTANTIATE_TEST_SUITE_P(every, gemv,
        testing::Combine(testing::Values(isa_avx512_core, isa_avx2),
                testing::Values(t::u4, t::s4, t::u8, t::s8)),
        [](const testing::TestParamInfo<gemv::ParamType> &tested) {
            const bool is_avx2 = std::get<0>(tested.param) == isa_avx2;
            return std::string(is_avx2 ? "avx2_" : "avx512_core_")
                   + to_string(std::get<1>(tested.param));
        });

} // namespace
} // namespace dnnl_dequant
