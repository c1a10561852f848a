#ifndef BASE_CONVERT_HPP
#define BASE_CONVERT_HPP

#include "base/data_type.hpp"

namespace dnnl_dequant {

// Scalar conversions, bit for bit what every kernel must produce. Rounding is
// to nearest even, subnormals are kept, overflow gives infinity, NaN stays
// NaN (payload free).

float bf16_to_f32(uint16_t bits);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
uint16_t f32_to_f16(float value);

/// Value of the bits of a float of 8 bits or fewer, exact.
float small_float_to_f32(data_type_t type, unsigned bits);

/// Returns the bits of the nearest float of 8 bits or fewer (not e8m0). A value
/// that is too large becomes infinity; NaN if the type has no infinity; the
/// largest number if it has neither. NaN becomes 0 if the type has none.
unsigned f32_to_small_float(data_type_t type, float value);

/// The largest finite value of a floating type.
float largest_of(data_type_t type);

/// The range of an integer type of up to 32 bits.
struct int_range_t {
    int64_t lowest, highest;
};
int_range_t range_of(data_type_t type);

/// Returns the nearest integer, even at ties; 0 for NaN. A value beyond 2^40 is
/// clipped to 2^40, with its sign.
int64_t nearest_int(float value);

/// True where the first `count` elements of a buffer of floats of 8 bits or
/// fewer are all zero, of either sign.
bool are_zero(data_type_t type, const void *base, dim_t count);

/// Element `index` of a densely counted buffer of integers, exact. Types below
/// a byte fill a byte from its lowest bits: of 4-bit types element 2i is the
/// low half of byte i, element 2i+1 the high half.
int64_t load_int(data_type_t type, const void *base, dim_t index);

/// Stores the low bits of `value` as element `index` of a buffer of integers,
/// and leaves the other elements of its byte as they are.
void store_int(data_type_t type, void *base, dim_t index, int64_t value);

/// Copies an element of any type, bit for bit; the other elements of the
/// written byte stay as they are.
void copy_element(data_type_t type, const void *from, dim_t from_index,
        void *to, dim_t to_index);

/// Element `index` of a buffer of any type, as f32: exact for floating types,
/// rounded once to nearest even for integers.
float load_f32(data_type_t type, const void *base, dim_t index);

/// The types that a result may have: f32, bf16, f16.
inline bool is_result_type(data_type_t type) {
    return type == data_type_t::f32 || type == data_type_t::bf16
           || type == data_type_t::f16;
}

/// Stores `value`, rounded once, as element `index` of a buffer of a floating
/// type; of those of 8 bits and fewer as f32_to_small_float() has it.
void store_f32(data_type_t type, void *base, dim_t index, float value);

} // namespace dnnl_dequant

#endif
