#ifndef SUPPORT_NUMBERS_HPP
#define SUPPORT_NUMBERS_HPP

#include <cstdint>

#include "base/data_type.hpp"

namespace dnnl_dequant {
namespace support {

/// A binary floating format of at most 32 bits, with arithmetic on it in
/// double: another way to the same answers as base/convert.
struct format_t {
    int bits;
    int fraction_bits;
    int least_exponent; // of the normal numbers

    uint32_t sign_bit() const { return 1u << (bits - 1); }
    uint32_t infinity() const { return sign_bit() - (1u << fraction_bits); }
    bool is_nan(uint32_t pattern) const {
        return (pattern & (sign_bit() - 1u)) > infinity();
    }
};

/// Returns the format of f32, bf16 or f16.
const format_t &format_of(data_type_t type);

/// Returns the bits of `value` rounded once to nearest even.
uint32_t round_to(const format_t &format, double value);

/// Returns the exact value of the bits.
double value_of(const format_t &format, uint32_t bits);

/// Returns element `index` of a buffer, which is exact in every type.
int64_t integer_at(data_type_t type, const void *data, dim_t index);
double float_at(data_type_t type, const void *data, dim_t index);
/// The bits of an element of any type of up to 32 bits; to put them leaves the
/// other elements of the byte as they are.
uint32_t bits_at(data_type_t type, const void *data, dim_t index);
void put_bits(data_type_t type, void *data, dim_t index, uint32_t bits);

/// Returns the bits of f32(x / scale) quantized to `type`, straight from the
/// definition. An integer is the quotient's nearest (0 for NaN) plus `zp`. A
/// float is the nearest of all the type's values to f32(quotient + zp); for f4
/// it is 0 for NaN. With `saturated`, a value beyond the largest becomes the
/// largest.
uint32_t quantized_bits(
        data_type_t type, double quotient, double zp, bool saturated);

} // namespace support
} // namespace dnnl_dequant

#endif
