#include "base/convert.hpp"

#include <cstring>

namespace dnnl_dequant {

namespace {

constexpr uint32_t f32_abs_mask = 0x7fffffffu;
constexpr uint32_t f32_infinity = 0x7f800000u;

uint32_t bits_of_f32(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float f32_of_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

template <typename T>
T load_as(const void *base, dim_t index) {
    T value;
    std::memcpy(&value, static_cast<const T *>(base) + index, sizeof(T));
    return value;
}

template <typename T>
void store_as(void *base, dim_t index, T value) {
    std::memcpy(static_cast<T *>(base) + index, &value, sizeof(T));
}

int nibble(const void *base, dim_t index) {
    const int byte = static_cast<const uint8_t *>(base)[index >> 1];
    return (index & 1) ? byte >> 4 : byte & 0xf;
}

// `value` shifted right by `shift` (1 to 31), rounded to nearest even.
uint32_t shift_right_nearest_even(uint32_t value, int shift) {
    const uint32_t half = 1u << (shift - 1);
    const uint32_t odd = (value >> shift) & 1u;
    return (value + half - 1u + odd) >> shift;
}

} // namespace

float bf16_to_f32(uint16_t bits) {
    return f32_of_bits(static_cast<uint32_t>(bits) << 16);
}

uint16_t f32_to_bf16(float value) {
    const uint32_t bits = bits_of_f32(value);
    // Rounding could carry a NaN's payload into the sign: make it quiet and
    // cut the payload instead.
    if ((bits & f32_abs_mask) > f32_infinity)
        return static_cast<uint16_t>(bits >> 16 | 0x40u);
    // The carry out of the significand moves on into the exponent, and from
    // the largest finite value to infinity: just what is wanted.
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float f16_to_f32(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = bits >> 10 & 0x1fu;
    const uint32_t significand = bits & 0x3ffu;
    if (exponent == 0x1fu)
        return f32_of_bits(sign | f32_infinity | significand << 13);
    if (exponent == 0) {
        // Zero and subnormals are significand * 2^-24, exact in f32.
        const float magnitude = static_cast<float>(significand) * 0x1p-24f;
        return f32_of_bits(sign | bits_of_f32(magnitude));
    }
    return f32_of_bits(sign | (exponent + 112u) << 23 | significand << 13);
}

uint16_t f32_to_f16(float value) {
    const uint32_t bits = bits_of_f32(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & f32_abs_mask;
    uint32_t half;
    if (magnitude > f32_infinity) {
        half = 0x7e00u;
    } else if (magnitude >= 0x47800000u) { // 65536 and more, infinity included
        half = 0x7c00u;
    } else if (magnitude >= 0x38800000u) { // normal f16: 2^-14 and more
        // Rounding up from 65504 gives 0x7c00, infinity, as it should.
        half = shift_right_nearest_even(magnitude - 0x38000000u, 13);
    } else if (magnitude >= 0x33000000u) { // subnormal f16: 2^-25 and more
        const int shift = 126 - static_cast<int>(magnitude >> 23);
        half = shift_right_nearest_even(
                (magnitude & 0x7fffffu) | 0x800000u, shift);
    } else {
        half = 0;
    }
    return static_cast<uint16_t>(sign | half);
}

int64_t load_int(data_type_t type, const void *base, dim_t index) {
    switch (type) {
    case data_type_t::u8: return load_as<uint8_t>(base, index);
    case data_type_t::s8: return load_as<int8_t>(base, index);
    case data_type_t::s32: return load_as<int32_t>(base, index);
    case data_type_t::s64: return load_as<int64_t>(base, index);
    case data_type_t::u4: return nibble(base, index);
    case data_type_t::s4: return (nibble(base, index) ^ 8) - 8;
    default: return 0;
    }
}

float load_f32(data_type_t type, const void *base, dim_t index) {
    switch (type) {
    case data_type_t::f32: return load_as<float>(base, index);
    case data_type_t::bf16: return bf16_to_f32(load_as<uint16_t>(base, index));
    case data_type_t::f16: return f16_to_f32(load_as<uint16_t>(base, index));
    default: return static_cast<float>(load_int(type, base, index));
    }
}

void store_f32(data_type_t type, void *base, dim_t index, float value) {
    switch (type) {
    case data_type_t::bf16:
        store_as<uint16_t>(base, index, f32_to_bf16(value));
        break;
    case data_type_t::f16:
        store_as<uint16_t>(base, index, f32_to_f16(value));
        break;
    default: store_as<float>(base, index, value); break;
    }
}

} // namespace dnnl_dequant
