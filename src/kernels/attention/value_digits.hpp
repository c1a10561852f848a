#ifndef KERNELS_ATTENTION_VALUE_DIGITS_HPP
#define KERNELS_ATTENTION_VALUE_DIGITS_HPP

#include <cstdint>
#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/attention/digits.hpp"

namespace dnnl_dequant {

/// Integer values by rows of weights that become integers of three signed
/// digits of 8 bits, so that bytes of values are multiplied as they lie:
///
///     weight * scale = norm / 2^23 * sum over digits of digit * 256^place
///     sum over tokens of weight * scale * (value - zp)
///         = norm / 2^23 * sum over digits of
///             256^place * sum over tokens of digit * (value - zp)
///
/// A row's largest weight, times its scale, becomes 127 * 256^2: three digits
/// are as close as f32. Sums over up to `most_tokens` tokens are exact.
struct value_digits_t {
    data_type_t type = data_type_t::undef; // s8 u8 s4 u4
    data_type_t zps = data_type_t::undef;  // of 8 bits at most; undef: none
    dim_t cols = 0;                        // numbers of a token, side by side
    dim_t pitch = 0;                       // bytes from token to token
    dim_t ahead = 16 * 1024;               // bytes, of what is prefetched

    static constexpr int digits = 3;
    static constexpr dim_t most_tokens = 32 * 1024;
    /// Bytes of a token that are multiplied at once.
    static constexpr dim_t chunk = 64;
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
};

/// The values that belong to a row's digits.
struct value_digits_row_t {
    /// The first values of the sums of each digit, the least one first. They
    /// cancel biases, and subtract zero points.
    int32_t begins[value_digits_t::digits];
    float norm; // NaN or infinite where weights are not finite
};

/// Multiplies a row of digits by tokens, sixteen at a time.
class value_digits_kernel_t {
public:
    static constexpr dim_t tokens_at_once = 16;

    struct row_t {
        const float *weights, *scales;
        const float *zps; // with some behind the last, up to a sixteen
        float *scaled;    // scratch, a whole number of sixteens
        int8_t *digits;   // digit_bytes()
        value_digits_row_t *row;
        dim_t tokens; // more than 0
    };
    struct block_t {
        const void *values; // of the first token
        dim_t groups;       // of sixteen tokens
        const void *last;   // a group that lies elsewhere; null: none
        const int8_t *digits;
        const value_digits_row_t *row;
        float *sums; // sum_floats() of them
    };

    virtual ~value_digits_kernel_t() = default;
    virtual const char *name() const = 0;
    /// Makes a row's digits: of each sixteen tokens the least ones first.
    /// Tokens that are missing there have digits of 0.
    virtual void make_digits(const row_t &row) const noexcept = 0;
    virtual void run(const block_t &block) const noexcept = 0;

    static dim_t digit_bytes(dim_t tokens) {
        return round_up(tokens, tokens_at_once) * value_digits_t::digits;
    }
};

/// Unimplemented without VNNI of AVX-512, or where a token's numbers are too
/// many.
result_t make_jit_value_digits(const value_digits_t &format, isa_t isa,
        std::shared_ptr<const value_digits_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
