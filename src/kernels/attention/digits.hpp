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

/// The number that is added to integers of 4 or 8 bits so that they have no
/// sign; 0 if they have none.
inline int sign_bias(data_type_t type) {
    return type == data_type_t::s8 ? 128 : type == data_type_t::s4 ? 8 : 0;
}

/// Integer keys by rows of a query whose numbers are integers of two or three
/// signed digits of 8 bits, so that bytes of keys are multiplied as they lie:
///
///      row = norm * sum over digits of digit * 256^place / 2^(8 digits - 1)
///      score = (sum (row / norm) * key - zp * total) * norm * scale
///
/// A row's largest number becomes 127 * 256^(digits - 1): three digits are as
/// close as f32. A lane's sums over digits are exact, then made f32.
///
/// If groups of a token's numbers have scales and zero points of their own,
/// each lane is scaled before lanes are added up. If each number has its own,
/// which tokens share, the row is scaled before it becomes digits.
struct digits_format_t {
    data_type_t type = data_type_t::undef; // s8 u8 s4 u4
    dim_t head = 0;                        // numbers of a token, side by side
    dim_t pitch = 0;                       // bytes from token to token
    int digits = 3;                        // 2 or 3
    bool has_zps = false;
    dim_t ahead = 16 * 1024; // bytes, of what is prefetched
    dim_t lines = 1;         // of which one is prefetched
    dim_t group = 0;         // numbers of a token that share a scale; 0: all
    bool by_number = false;  // tokens share the scales of each number

    /// Bytes of keys that meet one vector of each digit, or two of 4 bits.
    static constexpr dim_t chunk = 64;
    dim_t key_bytes() const { return bytes_of(type, head); }
    dim_t chunks() const { return div_up(key_bytes(), chunk); }
    dim_t numbers_a_byte() const { return 8 / bits_of(type); }
    /// The bytes of a row's digits.
    dim_t row_bytes() const {
        return chunks() * numbers_a_byte() * digits * chunk;
    }
    bool has_groups() const { return group != 0 && group < head; }
    /// Scales of a token.
    dim_t groups() const { return has_groups() ? div_up(head, group) : 1; }
    /// Parts of a row whose sums are scaled together.
    dim_t parts() const { return has_groups() ? chunks() : 1; }
    /// The number that is added to integer keys so that they have no sign.
    int bias() const { return sign_bias(type); }
};

/// The values that belong to a part of a row's digits.
struct digits_part_t {
    /// The first values of the sums, which cancel the keys' bias: -bias times a
    /// digit's sum in each lane of 32 bits. The least digit comes first.
    std::array<std::array<int32_t, 16>, 3> begins;
    /// Sums of the row's integers: each lane's own if a token has groups, else
    /// that of all, in each lane. If scales are by number: the sum of integers
    /// times zero points.
    std::array<float, 16> totals;
    float norm;       // of a whole row; NaN where its numbers are not finite
    float unused[15]; // up to 64 bytes
};

/// Multiplies rows of digits by tokens, sixteen at a time.
class digits_kernel_t {
public:
    static constexpr dim_t tokens_at_once = 16, most_rows = 8;

    struct row_t {
        const float *numbers;
        const float *scales, *zps; // if scales are by number
        int8_t *digits;            // row_bytes()
        digits_part_t *parts;      // parts()
        float *scaled;             // scratch, scaled_count() of them
    };
    struct block_t {
        const void *keys;
        const int8_t *digits;       // row_bytes() a row
        const digits_part_t *parts; // parts() a row
        // groups() a token, unless by number. If there are several, sixteen
        // are read from each token's first one on, whatever is behind them.
        const float *scales, *zps;
        float *scores;
        dim_t scores_pitch; // bytes
        dim_t groups;       // of sixteen tokens
        float *sums;        // scratch, sum_count() of them, 64 bytes aligned
        // Sixteen sums, to which 0 * score is added: they become NaN where a
        // score is not finite.
        float *zeros;
    };

    virtual ~digits_kernel_t() = default;
    virtual const char *name() const = 0;
    /// Makes a row's digits: of each chunk of keys' bytes the low nibbles',
    /// then the high ones', the least digit first.
    virtual void make_digits(row_t row) const noexcept = 0;
    virtual void run(dim_t rows, const block_t &block) const noexcept = 0;

    static dim_t sum_count(dim_t rows) { return rows * tokens_at_once * 16; }
    static dim_t scaled_count(const digits_format_t &format) {
        return format.chunks() * format.chunk * format.numbers_a_byte();
    }
};

/// For up to so many rows; unimplemented without VNNI of AVX-512, where a
/// token's numbers or groups are too many, or where a lane's keys belong to
/// several groups.
result_t make_jit_digits(const digits_format_t &format, dim_t rows, isa_t isa,
        std::shared_ptr<const digits_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
