#ifndef KERNELS_SKINNY_GEMM_CASE_HPP
#define KERNELS_SKINNY_GEMM_CASE_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/convert.hpp"
#include "kernels/exact_floats.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"
#include "support/cross_product.hpp"
#include "support/guarded_buffer.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {

struct skinny_gemm_case_t {
    skinny_gemm_case_t() { weights.calls_multiply = true; }

    skinny_weights_t weights;
    dim_t rows = 1;
    dim_t most_rows = 0; // that the kernel was made for, if these are more
    isa_t isa = isa_of_machine();
};

/// Lets parameters be dense [groups, columns], as skinny_gemm_case_run_t has
/// them in memory.
inline void place_parameters(skinny_weights_t &w) {
    const dim_t columns = div_up(w.cols, w.col_group);
    w.zps = {w.zps.type, 1, columns, 1};
    w.scales = {w.scales.type, 2, columns, 1};
}

/// Returns of how many cases one is checked. Weights of few models are a
/// sample.
inline dim_t one_in(data_type_t weights) {
    const bool is_common = is_integer(weights) && bits_of(weights) > 2;
    return (is_common ? 1 : 5) * support::every();
}

/// Operands of the weights' problem: weights, zero points, scales.
class skinny_gemm_case_run_t {
    using t = data_type_t;

public:
    explicit skinny_gemm_case_run_t(const skinny_gemm_case_t &c)
        : w_(c.weights)
        , rows_(c.rows)
        , most_rows_(c.most_rows)
        , stored_(static_cast<size_t>(bytes_of(w_.type,
                  (w_.by_column ? w_.cols - 1 : w_.depth - 1) * w_.pitch
                          + (w_.by_column ? w_.depth : w_.cols)))) {
        support::fill_integers(
                w_.type, stored_.data(), stored_.size(), random_);
        if (is_floating(w_.type) && bits_of(w_.type) == 8) keep_few_exponents();
    }
    /// The same by weights that all have one code.
    skinny_gemm_case_run_t(const skinny_gemm_case_t &c, uint8_t code)
        : skinny_gemm_case_run_t(c) {
        std::memset(stored_.data(), code, stored_.size());
    }

    // Rows of ones by weights of one code have sums that are exact.
    void check_code(const skinny_gemm_t &skinny_gemm) {
        make_values();
        std::fill(src_.begin(), src_.end(), 1.f);
        std::fill(scales_.begin(), scales_.end(), 0.5f);
        const double weight = number_at(0) / 2;
        const auto sum
                = static_cast<float>(weight * static_cast<double>(w_.depth));
        for (const float found : run(skinny_gemm))
            if (std::isfinite(weight)) ASSERT_EQ(found, sum);
            else if (std::isnan(weight)) ASSERT_TRUE(std::isnan(found));
            else ASSERT_EQ(found, sum);
    }

    void check(const skinny_gemm_t &skinny_gemm) {
        make_values();
        rounded_ = rounding_of(skinny_gemm);
        const std::vector<float> c = run(skinny_gemm);
        for (dim_t r = 0; r < rows_; ++r)
            for (dim_t n = 0; n < w_.cols; ++n)
                ASSERT_EQ(c[at(r * w_.cols + n)], expected(r, n))
                        << "at " << r << ", " << n;
    }

    // On any values: the sum of all squared errors is no more than that of
    // weights made f32, or bf16, first and summed in order.
    void check_errors(const skinny_gemm_t &skinny_gemm) {
        make_values();
        rounded_ = rounding_of(skinny_gemm);
        const bool are_integers = w_.tiles == skinny_tiles_t::integers;
        for (float &value : src_) {
            value += static_cast<float>(random_.between(-1000, 1000)) / 777;
            if (are_integers) value = std::rint(100 * value);
            value = static_cast<float>(rounded(skinny_gemm.src_type(), value));
        }
        for (float &scale : scales_)
            scale *= 1 + static_cast<float>(random_.between(0, 999)) / 1234;
        const std::vector<float> c = run(skinny_gemm);
        double errors = 0, errors_in_order = 0;
        for (dim_t r = 0; r < rows_; ++r)
            for (dim_t n = 0; n < w_.cols; ++n) {
                double sum = 0;
                float in_order = 0;
                for (dim_t k = 0; k < w_.depth; ++k) {
                    const double weight = rounded(rounded_, weight_at(k, n));
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

    // Elements of src differ by powers of 2. An error is small next to the
    // terms of its sum, although a weight of 0 may meet the largest element.
    void check_wide_rows(const skinny_gemm_t &skinny_gemm) {
        make_values();
        for (float &value : src_)
            value = std::ldexp(
                    value + 0.7f, static_cast<int>(random_.between(-12, 12)));
        const std::vector<float> c = run(skinny_gemm);
        for (dim_t r = 0; r < rows_; ++r)
            for (dim_t n = 0; n < w_.cols; ++n) {
                double sum = 0, terms = 0;
                for (dim_t k = 0; k < w_.depth; ++k) {
                    const double term
                            = weight_at(k, n)
                              * static_cast<double>(src_[at(r * w_.depth + k)]);
                    sum += term;
                    terms += std::abs(term);
                }
                const double found
                        = static_cast<double>(c[at(r * w_.cols + n)]);
                ASSERT_LE(std::abs(found - sum), terms * 0x1p-20)
                        << "at " << r << ", " << n;
            }
    }

    // An element of each row is infinite.
    void check_infinity(const skinny_gemm_t &skinny_gemm) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        make_values();
        const dim_t k = w_.depth / 3;
        for (dim_t r = 0; r < rows_; ++r)
            src_[at(r * w_.depth + k)] = infinity;
        const std::vector<float> c = run(skinny_gemm);
        for (dim_t r = 0; r < rows_; ++r)
            for (dim_t n = 0; n < w_.cols; ++n) {
                const float found = c[at(r * w_.cols + n)];
                const double weight = weight_at(k, n);
                if (weight == 0) ASSERT_TRUE(std::isnan(found)) << found;
                else ASSERT_EQ(found, weight > 0 ? infinity : -infinity);
            }
    }

    // One group of one column has this zero point, the others have 7. Src has a
    // 1 in that group.
    void check_zero_point(const skinny_gemm_t &skinny_gemm, int64_t zp) {
        constexpr int64_t others = 7;
        const dim_t groups = w_.groups(), group = groups / 2,
                    column = w_.cols - 1, k = group * w_.group + 1;
        make_values();
        std::fill(src_.begin(), src_.end(), 0.f);
        for (dim_t r = 0; r < rows_; ++r)
            src_[at(r * w_.depth + k)] = 1;
        std::fill(scales_.begin(), scales_.end(), 0.5f);
        std::fill(zps_.begin(), zps_.end(), others);
        zps_[at(group * col_groups() + column / w_.col_group)] = zp;
        const std::vector<float> c = run(skinny_gemm);
        const auto difference = static_cast<float>(
                support::integer_at(w_.type, stored_.data(),
                        w_.by_column ? column * w_.pitch + k
                                     : k * w_.pitch + column)
                - zp);
        // The graph alone rounds what is computed plainly.
        const bool is_far = std::abs(static_cast<double>(zp))
                            > static_cast<double>(skinny_gemm_t::farthest_zp);
        const auto weight = static_cast<float>(
                rounded(is_far ? w_.rounded : rounding_of(skinny_gemm),
                        static_cast<double>(difference) / 2));
        for (dim_t r = 0; r < rows_; ++r)
            ASSERT_EQ(c[at(r * w_.cols + column)], weight);
    }

    // Whether one scale makes ordinary weights is found out wherever it is.
    void check_scale(
            const skinny_gemm_t &skinny_gemm, float scale, bool is_ordinary) {
        make_values();
        std::fill(scales_.begin(), scales_.end(), -0x1p-5f);
        scales_[scales_.size() / 3] = 0;
        (void)run(skinny_gemm);
        EXPECT_TRUE(was_ordinary_);
        for (const size_t place : {size_t(0), scales_.size() - 1}) {
            std::swap(scales_[place], scale);
            (void)run(skinny_gemm);
            EXPECT_EQ(was_ordinary_, is_ordinary)
                    << scales_[place] << " at " << place;
            // The other half of the columns does not have it.
            EXPECT_EQ(were_halves_ordinary_[0], is_ordinary || place > 0);
            if (w_.col_group > 1) {
                EXPECT_EQ(were_halves_ordinary_[1], is_ordinary || place == 0);
            }
            std::swap(scales_[place], scale);
        }
    }

    // Threads decide which columns are in one block, and so which sums have a
    // neighbour whose scale is not ordinary. It changes none of their bits.
    void check_neighbours(const skinny_gemm_t &skinny_gemm) {
        make_values();
        for (float &value : src_)
            value += static_cast<float>(random_.between(-1000, 1000)) / 777;
        const std::vector<float> sums = run(skinny_gemm);
        EXPECT_TRUE(was_ordinary_);
        scales_[0] = 0x1p-140f;
        const std::vector<float> others = run(skinny_gemm);
        EXPECT_FALSE(was_ordinary_);
        for (dim_t r = 0; r < rows_; ++r)
            for (dim_t n = w_.col_group; n < w_.cols; ++n)
                ASSERT_EQ(
                        sums[at(r * w_.cols + n)], others[at(r * w_.cols + n)])
                        << "at " << r << ", " << n;
    }

    // A scale's NaN, whatever its payload, is every sum's.
    void check_nan(const skinny_gemm_t &skinny_gemm) {
        make_values();
        const bool is_bf16 = w_.scales.type == t::bf16;
        const uint32_t nan = is_bf16 ? 0x7fff0000u : 0x7fffffffu;
        for (float &scale : scales_)
            std::memcpy(&scale, &nan, sizeof(nan));
        for (const float sum : run(skinny_gemm))
            ASSERT_TRUE(std::isnan(sum)) << sum;
    }

private:
    // Returns rows x columns.
    std::vector<float> run(const skinny_gemm_t &skinny_gemm) {
        const dim_t pitch = (w_.depth + 255) / 128 * 128;
        // The last row, where it is not arranged, ends at a guard page.
        const bool is_arranged
                = skinny_gemm.src_unit() != 1 && !skinny_gemm.packs_src();
        const dim_t last = is_arranged ? pitch : w_.depth;
        const t src = skinny_gemm.src_type();
        const support::guarded_buffer_t a(
                at(bytes_of(src, (rows_ - 1) * pitch + last)));
        // These bytes are NaN in either type.
        std::memset(a.data(), 0xff, a.size());
        auto *row = static_cast<char *>(a.data());
        for (dim_t r = 0; r < rows_; ++r, row += bytes_of(src, pitch)) {
            for (dim_t k = 0; k < w_.depth; ++k)
                support::put_bits(src, row, k,
                        support::round_to(support::format_of(src),
                                static_cast<double>(
                                        src_[at(r * w_.depth + k)])));
            if (is_arranged) skinny_gemm.arrange(row);
        }
        const support::guarded_buffer_t packed = pack(skinny_gemm, a, pitch);
        // The last panel is whole.
        const dim_t c_pitch
                = round_up(w_.cols, std::max<dim_t>(skinny_gemm.nr(), 32)) + 32;
        std::vector<float> c(at(rows_ * c_pitch));
        // They end at guard pages, too.
        const floats_t partial(std::max(rows_, most_rows_) * c_pitch
                               * skinny_gemm.partial_floats());
        const bool by_column = skinny_gemm.parameters_by_column();
        const bool are_shared = w_.col_group > 1;
        const dim_t side_by_side
                = by_column    ? w_.groups()
                  : are_shared ? col_groups()
                               : round_up(col_groups(), skinny_gemm.nr());
        const dim_t pitch_of_groups = are_shared  ? side_by_side + 3
                                      : by_column ? side_by_side
                                                  : c_pitch;
        const dim_t beyond
                = by_column && !are_shared ? skinny_gemm_t::columns_beyond : 0;
        const dim_t parameters
                = ((by_column ? col_groups() : w_.groups()) + beyond - 1)
                          * pitch_of_groups
                  + side_by_side;
        const floats_t scales(parameters), zps(parameters);
        place(skinny_gemm, pitch_of_groups, scales.data(), zps.data());
        // The user's memory is read if sums are not finite, or zero points far.
        std::vector<float> user_scales(scales_.size());
        std::vector<int64_t> user_zps(zps_.size());
        for (size_t i = 0; i < scales_.size(); ++i) {
            const auto index = static_cast<dim_t>(i);
            store_f32(w_.scales.type, user_scales.data(), index, scales_[i]);
            if (w_.zps.type != t::undef)
                store_int(w_.zps.type, user_zps.data(), index, zps_[i]);
        }
        void *const buffers[]
                = {stored_.data(), user_zps.data(), user_scales.data()};
        const support::guarded_buffer_t room(
                at(skinny_gemm.rest_bytes(w_.cols)));
        const skinny_gemm_t::block_t block {
                packed.size() > 0 ? packed.data() : a.data(), c.data(),
                partial.data(), pitch, c_pitch, rows_, 0, w_.cols,
                scales.data(), zps.data(), pitch_of_groups};
        look_at_scales(skinny_gemm, block);
        skinny_gemm.multiply(buffers, block, room.data());
        std::vector<float> dense;
        for (dim_t r = 0; r < rows_; ++r)
            dense.insert(dense.end(), c.begin() + r * c_pitch,
                    c.begin() + r * c_pitch + w_.cols);
        return dense;
    }

    // Asks about a block, and about its columns' halves. A block of columns
    // that share scales has those of all, and a half begins at its first
    // column.
    void look_at_scales(
            const skinny_gemm_t &skinny_gemm, skinny_gemm_t::block_t block) {
        was_ordinary_ = skinny_gemm.has_ordinary_weights(block);
        block.cols = w_.cols / 2 / w_.col_group * w_.col_group;
        were_halves_ordinary_[0] = skinny_gemm.has_ordinary_weights(block);
        block.first_col = block.cols;
        block.cols = w_.cols - block.cols;
        if (w_.col_group > 1)
            were_halves_ordinary_[1] = skinny_gemm.has_ordinary_weights(block);
    }

    // Returns the packed rows, which end at a guard page; nothing if the kernel
    // takes rows as they are.
    support::guarded_buffer_t pack(const skinny_gemm_t &skinny_gemm,
            const support::guarded_buffer_t &a, dim_t pitch) const {
        const t src = skinny_gemm.src_type();
        support::guarded_buffer_t packed(at(skinny_gemm.packed_bytes(rows_)));
        // Places of missing rows may hold anything.
        std::memset(packed.data(), 0xff, packed.size());
        if (!skinny_gemm.packs_src()) return packed;
        // In two parts, the last one first.
        const dim_t units = div_up(w_.depth, skinny_gemm.src_unit());
        const dim_t pitch_bytes = bytes_of(src, pitch);
        skinny_gemm.pack(
                a.data(), pitch_bytes, rows_, units / 2, units, packed.data());
        skinny_gemm.pack(
                a.data(), pitch_bytes, rows_, 0, units / 2, packed.data());
        return packed;
    }

    static size_t at(dim_t i) { return static_cast<size_t>(i); }

    // Replaces floats of 8 bits by those of four exponents, whose sums are
    // exact.
    void keep_few_exponents() {
        const int bits = w_.type == t::f8_e4m3 ? 3 : 2;
        const int least = w_.type == t::f8_e4m3 ? 5 : 13;
        auto *const codes = static_cast<uint8_t *>(stored_.data());
        for (size_t i = 0; i < stored_.size(); ++i) {
            const int found = codes[i];
            codes[i] = static_cast<uint8_t>(
                    (found & 0x80) | ((least << bits) + found % (4 << bits)));
        }
    }

    double number_at(dim_t place) const {
        return is_integer(w_.type)
                       ? static_cast<double>(support::integer_at(
                                 w_.type, stored_.data(), place))
                       : support::float_at(w_.type, stored_.data(), place);
    }

    void make_values() {
        src_.resize(at(rows_ * w_.depth));
        fill_small(src_.data(), rows_ * w_.depth, random_);
        scales_.resize(at(w_.groups() * col_groups()));
        zps_.resize(scales_.size());
        if (w_.zps.type != t::undef) {
            const int_range_t range = range_of(w_.zps.type);
            const dim_t least = std::max<dim_t>(range.lowest, -300);
            const dim_t most = std::min<dim_t>(range.highest, 255);
            for (int64_t &zp : zps_)
                zp = random_.between(least, most);
        }
        for (float &scale : scales_)
            scale = static_cast<float>(
                    std::exp2(static_cast<double>(random_.between(-2, 1))));
    }

    dim_t col_groups() const { return div_up(w_.cols, w_.col_group); }

    void place(const skinny_gemm_t &skinny_gemm, dim_t pitch, float *scales,
            float *zps) const {
        for (dim_t g = 0; g < w_.groups(); ++g)
            for (dim_t n = 0; n < col_groups(); ++n) {
                const dim_t to = skinny_gemm.parameters_by_column()
                                         ? n * pitch + g
                                         : g * pitch + n;
                scales[to] = scales_[at(g * col_groups() + n)];
                zps[to] = static_cast<float>(zps_[at(g * col_groups() + n)]);
            }
    }

    double weight_at(dim_t k, dim_t n) const {
        const size_t p = at(k / w_.group * col_groups() + n / w_.col_group);
        const double q
                = number_at(w_.by_column ? n * w_.pitch + k : k * w_.pitch + n);
        return (q - static_cast<double>(zps_[p]))
               * static_cast<double>(scales_[p]);
    }

    // The type that weights are rounded to, by the graph or to be multiplied.
    t rounding_of(const skinny_gemm_t &skinny_gemm) const {
        return skinny_gemm.src_type() == t::bf16
                               && w_.tiles != skinny_tiles_t::integers
                       ? t::bf16
                       : w_.rounded;
    }

    static double rounded(t type, double value) {
        const auto &format = support::format_of(type);
        return support::value_of(format, support::round_to(format, value));
    }

    float expected(dim_t r, dim_t n) const {
        double sum = 0;
        for (dim_t k = 0; k < w_.depth; ++k)
            sum += rounded(rounded_, weight_at(k, n))
                   * static_cast<double>(src_[at(r * w_.depth + k)]);
        return static_cast<float>(sum);
    }

    const skinny_weights_t w_;
    const dim_t rows_, most_rows_;
    t rounded_ = t::f32; // weights, before they are multiplied
    support::random_t random_ {7};
    support::guarded_buffer_t stored_;
    std::vector<float> src_, scales_;
    std::vector<int64_t> zps_;
    // The kernel said so of the last run.
    bool was_ordinary_ = false, were_halves_ordinary_[2] {};
};

} // namespace dnnl_dequant

#endif
