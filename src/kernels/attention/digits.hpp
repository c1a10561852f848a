#ifndef KERNELS_ATTENTION_DIGITS_HPP
#define KERNELS_ATTENTION_DIGITS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Integer keys by rows of a query whose numbers are integers of two or three
/// signed digits of 8 bits, so that bytes of keys are multiplied as they lie:
///
///      row = norm * sum over digits of digit * 256^place / 2^(8 digits - 1)
///      score = (sum (row / norm) * key - zp * total) * norm * scale
///
/// A row's largest number becomes 127 * 256^(digits - 1): three digits are as
/// close as f32. A lane's sums over digits are exact, then made f32.
struct digits_format_t {
    data_type_t type = data_type_t::undef; // s8 u8 s4 u4
    dim_t head = 0;                        // numbers of a token, side by side
    dim_t pitch = 0;                       // bytes from token to token
    int digits = 3;                        // 2 or 3
    bool has_zps = false;
    dim_t ahead = 16 * 1024; // bytes, of what is prefetched

    /// Bytes of keys that meet one vector of each digit, or two of 4 bits.
    static constexpr dim_t chunk = 64;
    dim_t key_bytes() const { return bytes_of(type, head); }
    dim_t chunks() const { return div_up(key_bytes(), chunk); }
    dim_t numbers_a_byte() const { return 8 / bits_of(type); }
    /// The bytes of a row's digits.
    dim_t row_bytes() const {
        return chunks() * numbers_a_byte() * digits * chunk;
    }
    /// The number that is added to integer keys so that they have no sign.
    int bias() const;
};

/// The values that belong to a row's digits.
struct digits_row_t {
    /// The first values of the sums, which cancel the keys' bias: -bias times a
    /// digit's sum in each lane of 32 bits. The least digit comes first.
    std::array<std::array<int32_t, 16>, 3> begins;
    float total;      // of the row's numbers, over norm
    float norm;       // NaN where they are not finite
    float unused[14]; // up to 64 bytes
};

/// Makes a row's digits: of each chunk of keys' bytes the low nibbles', then
/// the high ones', the least digit first.
void make_digits(const digits_format_t &format, const float *row,
        int8_t *digits, digits_row_t &made);

/// Multiplies rows of digits by tokens, sixteen at a time.
class digits_kernel_t {
public:
    static constexpr dim_t tokens_at_once = 16, most_rows = 8;

    struct block_t {
        const void *keys;
        const int8_t *digits;     // row_bytes() a row
        const digits_row_t *rows; // one a row
        const float *scales, *zps;
        float *scores;
        dim_t scores_pitch; // bytes
        dim_t groups;       // of sixteen tokens
        float *sums;        // scratch, sum_count() of them, 64 bytes aligned
    };

    virtual ~digits_kernel_t() = default;
    virtual const char *name() const = 0;
    virtual void run(dim_t rows, const block_t &block) const noexcept = 0;

    static dim_t sum_count(dim_t rows) { return rows * tokens_at_once * 16; }
};

/// For up to so many rows; unimplemented without VNNI of AVX-512, or where a
/// token's numbers are too many.
result_t make_jit_digits(const digits_format_t &format, dim_t rows, isa_t isa,
        std::shared_ptr<const digits_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
