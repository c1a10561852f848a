#ifndef KERNELS_ATTENTION_VALUE_DIGITS_HPP
#define KERNELS_ATTENTION_VALUE_DIGITS_HPP

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/attention/digits.hpp"

namespace dnnl_dequant {

/// Integer values by rows of weights that become integers of two or three
/// signed digits of 8 bits, so that bytes of values are multiplied as they lie:
///
///     weight * scale = norm * sum over digits of digit * 256^place
///     sum over tokens of weight * scale * (value - zp)
///         = norm * sum over digits of
///             256^place * sum over tokens of digit * (value - zp)
///
/// The largest weight of tokens_together() tokens, times its scale, becomes
/// 127 * 256^(digits - 1): three digits are as close as f32. Sums over these
/// tokens are exact.
struct value_digits_t {
    data_type_t type = data_type_t::undef; // s8 u8 s4 u4
    data_type_t zps = data_type_t::undef;  // of 8 bits at most; undef: none
    dim_t cols = 0;                        // numbers of a token, side by side
    dim_t pitch = 0;                       // bytes from token to token
    dim_t ahead = 16 * 1024;               // bytes, of what is prefetched
    dim_t lines = 1;                       // of which one is prefetched
    /// Two digits serve tokens whose weights, times their scales, are off by
    /// this part of their sum at most. The largest one does not count: its
    /// value may be 0, as that of the token which takes what attention there
    /// is to spare. 0: none.
    float tolerance = 0;

    static constexpr int most_digits = 3;
    static constexpr dim_t most_together = 256;
    /// Bytes of a token that are multiplied at once.
    static constexpr dim_t chunk = 64;
    /// Tokens whose values stay in L1 while some parts of them are multiplied
    /// after others, a multiple of sixteen.
    dim_t tokens_together() const {
        constexpr dim_t bytes = 16 * 1024, least = 64;
        if (pitch == 0) return most_together;
        return std::clamp(bytes / pitch / 16 * 16, least, most_together);
    }
    dim_t value_bytes() const { return bytes_of(type, cols); }
    dim_t chunks() const { return div_up(value_bytes(), chunk); }
    dim_t numbers_a_byte() const { return 8 / bits_of(type); }
    /// Floats that a row of sums takes: whole chunks.
    dim_t sum_floats() const { return chunks() * chunk * numbers_a_byte(); }
    bool has_zps() const { return zps != data_type_t::undef; }
    /// The numbers that are added to values, and to zero points, so that they
    /// have no sign.
    int bias() const { return sign_bias(type); }
    int zps_bias() const { return sign_bias(zps); }

    /// Returns true if so many digits serve `tokens` tokens, whose
    /// |weight * scale| have this largest one and this sum.
    bool serve(int digits, dim_t tokens, float largest, float total) const {
        const float others = total - largest;
        if (others == 0) return true;
        constexpr float of_three = 0x1p-12f;
        return largest * (0.5f / most_of(digits)) * static_cast<float>(tokens)
               <= (digits == most_digits ? of_three : tolerance) * others;
    }
    /// The largest integer of so many digits.
    static float most_of(int digits) {
        return digits == 2 ? 127.f * 256 : 127.f * 65536;
    }
};

/// The values that belong to the digits of a row's tokens.
struct value_digits_row_t {
    /// |weight * scale|: the largest, and the sum. The sum is NaN or infinite
    /// where weights are not finite.
    float largest, total;
    /// weight * scale * unit becomes an integer, of which 1 is worth norm.
    float unit, norm;
    /// The first values of the sums of each digit, the least one first. They
    /// cancel biases, and subtract zero points. The last one is not used.
    int32_t begins[4];
};

/// Multiplies digits of rows by tokens, four at a time.
class value_digits_kernel_t {
public:
    static constexpr dim_t most_rows = 4, tokens_at_once = 4;
    /// From a row's digits to the next row's: four bytes a token.
    static constexpr dim_t row_bytes = value_digits_t::most_together * 4;

    struct weights_t {
        const float *weights; // of the first row
        dim_t pitch;          // bytes
        const float *scales;
        const float *zps; // with some behind the last, up to a sixteen
        int8_t *digits;   // row_bytes a row
        value_digits_row_t *rows;
        dim_t count;  // of rows, 1 to most_rows
        dim_t tokens; // 1 to tokens_together()
    };
    struct block_t {
        const void *values; // of the first token
        dim_t fours;        // of tokens
        const void *last;   // four tokens that lie elsewhere; null: none
        const int8_t *digits;
        const value_digits_row_t *rows;
        float *sums; // sum_floats() a row, in an order of their own
    };

    virtual ~value_digits_kernel_t() = default;
    virtual const char *name() const = 0;
    /// Finds the largest of each row, and the sum.
    virtual void measure(const weights_t &weights) const noexcept = 0;
    /// Makes digits of rows that have units: the least ones of four tokens,
    /// then their next ones, four bytes each of up to four digits. Tokens that
    /// are missing at the end of sixteen have digits of 0.
    virtual void make_digits(
            int digits, const weights_t &weights) const noexcept
            = 0;
    /// Adds products to the sums.
    virtual void run(
            int digits, dim_t rows, const block_t &block) const noexcept
            = 0;
    /// Sums get the order of columns.
    virtual void put_in_order(dim_t rows, float *sums) const noexcept = 0;
};

/// For up to so many rows at once. Unimplemented without VNNI of AVX-512, or
/// where a token's numbers are too many.
result_t make_jit_value_digits(const value_digits_t &format, dim_t rows,
        isa_t isa, std::shared_ptr<const value_digits_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
