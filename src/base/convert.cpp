#include "base/convert.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bits.hpp"
#include "base/float_format.hpp"

namespace dnnl_dequant {

namespace {

constexpr uint32_t f32_abs_mask = 0x7fffffffu;
constexpr uint32_t f32_infinity = 0x7f800000u;

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

// The bits of an element of 8 bits or fewer.
unsigned small_bits(data_type_t type, const void *base, dim_t index) {
    const int bits = bits_of(type);
    const dim_t per_byte = 8 / bits;
    const unsigned byte = static_cast<const uint8_t *>(base)[index / per_byte];
    const int shift = static_cast<int>(index % per_byte) * bits;
    return byte >> shift & ((1u << bits) - 1u);
}

void store_small(data_type_t type, void *base, dim_t index, unsigned value) {
    const int bits = bits_of(type);
    const dim_t per_byte = 8 / bits;
    auto &byte = static_cast<uint8_t *>(base)[index / per_byte];
    const int shift = static_cast<int>(index % per_byte) * bits;
    const unsigned mask = ((1u << bits) - 1u) << shift;
    byte = static_cast<uint8_t>((byte & ~mask) | (value << shift & mask));
}

// The lowest `bits` bits of `value` as a two's complement number.
int sign_extended(unsigned value, int bits) {
    const int sign = 1 << (bits - 1);
    return (static_cast<int>(value) ^ sign) - sign;
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

float small_float_to_f32(data_type_t type, unsigned bits) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    using special_t = float_format_t::special_t;
    const float_format_t format = float_format_of(type);
    const int m = format.significand_bits;
    const unsigned magnitude = bits & (format.sign() - 1u);
    const bool is_negative = bits != magnitude;
    if (!format.has_negative_zero() && bits == format.nan()) return nan;
    if (format.special == special_t::all_ones_nan
            && magnitude == format.sign() - 1u)
        return nan;
    const int exponent = static_cast<int>(magnitude >> m);
    const unsigned significand = magnitude & ((1u << m) - 1u);
    float value;
    if (format.has_infinity() && magnitude >= format.infinity())
        value = significand ? nan : std::numeric_limits<float>::infinity();
    else if (exponent == 0 && m > 0) // zero and subnormals
        value = std::ldexp(
                static_cast<float>(significand), 1 - format.bias - m);
    else
        value = std::ldexp(static_cast<float>(significand | 1u << m),
                exponent - format.bias - m);
    return is_negative ? -value : value;
}

unsigned f32_to_small_float(data_type_t type, float value) {
    const float_format_t format = float_format_of(type);
    const int m = format.significand_bits;
    const unsigned sign = std::signbit(value) ? format.sign() : 0u;
    // The code of a NaN that is negative zero has its sign already.
    const unsigned nan_sign = format.has_negative_zero() ? sign : 0u;
    if (std::isnan(value))
        return format.has_nan() ? nan_sign | format.nan() : 0u;
    unsigned code = format.sign();
    const float magnitude = std::fabs(value);
    if (magnitude < 0x1p20f) {
        const int least = 1 - format.bias; // exponent of the least normal
        const int exponent = magnitude == 0.f
                                     ? least
                                     : std::max(std::ilogb(magnitude), least);
        // `units` counts in units of the last place, and so does the code.
        const auto units = static_cast<unsigned>(
                std::nearbyint(std::ldexp(magnitude, m - exponent)));
        code = (static_cast<unsigned>(exponent - least) << m) + units;
    }
    if (code > format.largest()) return nan_sign | format.overflow();
    return code == 0 ? nan_sign : sign | code;
}

float largest_of(data_type_t type) {
    const float_format_t format = float_format_of(type);
    const int m = format.significand_bits;
    const unsigned significand = format.largest() & ((1u << m) - 1u);
    const int exponent = static_cast<int>(format.largest() >> m);
    return std::ldexp(static_cast<float>(significand | 1u << m),
            exponent - format.bias - m);
}

int_range_t range_of(data_type_t type) {
    const int bits = bits_of(type);
    if (family_of(type) == type_family_t::unsigned_int)
        return {0, (int64_t(1) << bits) - 1};
    return {-(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1};
}

int64_t nearest_int(float value) {
    if (std::isnan(value)) return 0;
    constexpr float limit = 0x1p40f;
    return static_cast<int64_t>(
            std::nearbyint(std::min(std::max(value, -limit), limit)));
}

bool are_zero(data_type_t type, const void *base, dim_t count) {
    // The bits of a byte that no zero has; where negative zero is NaN, its
    // sign is one of them.
    const float_format_t format = float_format_of(type);
    const uint64_t in_element
            = format.has_negative_zero() ? format.sign() - 1u : 0xffu;
    const uint64_t in_byte
            = bits_of(type) == 4 ? in_element * 0x11u : in_element;
    const uint64_t mask = in_byte * 0x0101010101010101u;
    const dim_t word = 8, words = count * bits_of(type) / 64;
    const auto *bytes = static_cast<const char *>(base);
    uint64_t found = 0;
    for (dim_t w = 0; w < words; ++w)
        found |= load_as<uint64_t>(bytes + w * word, 0) & mask;
    if (found != 0) return false;
    for (dim_t i = words * 64 / bits_of(type); i < count; ++i)
        if (!(load_f32(type, base, i) == 0.f)) return false;
    return true;
}

int64_t load_int(data_type_t type, const void *base, dim_t index) {
    switch (type) {
    case data_type_t::u8: return load_as<uint8_t>(base, index);
    case data_type_t::s8: return load_as<int8_t>(base, index);
    case data_type_t::s32: return load_as<int32_t>(base, index);
    case data_type_t::s64: return load_as<int64_t>(base, index);
    case data_type_t::u16: return load_as<uint16_t>(base, index);
    case data_type_t::s16: return load_as<int16_t>(base, index);
    case data_type_t::u32: return load_as<uint32_t>(base, index);
    case data_type_t::u4:
    case data_type_t::u2: return small_bits(type, base, index);
    case data_type_t::s4:
    case data_type_t::s2:
        return sign_extended(small_bits(type, base, index), bits_of(type));
    default: return 0;
    }
}

void store_int(data_type_t type, void *base, dim_t index, int64_t value) {
    switch (bits_of(type)) {
    case 64: store_as(base, index, value); break;
    case 32: store_as(base, index, static_cast<uint32_t>(value)); break;
    case 16: store_as(base, index, static_cast<uint16_t>(value)); break;
    case 8: store_as(base, index, static_cast<uint8_t>(value)); break;
    default: store_small(type, base, index, static_cast<unsigned>(value));
    }
}

void copy_element(data_type_t type, const void *from, dim_t from_index,
        void *to, dim_t to_index) {
    switch (bits_of(type)) {
    case 64: store_as(to, to_index, load_as<uint64_t>(from, from_index)); break;
    case 32: store_as(to, to_index, load_as<uint32_t>(from, from_index)); break;
    case 16: store_as(to, to_index, load_as<uint16_t>(from, from_index)); break;
    case 8: store_as(to, to_index, load_as<uint8_t>(from, from_index)); break;
    default:
        store_small(type, to, to_index, small_bits(type, from, from_index));
    }
}

float load_f32(data_type_t type, const void *base, dim_t index) {
    switch (type) {
    case data_type_t::f32: return load_as<float>(base, index);
    case data_type_t::bf16: return bf16_to_f32(load_as<uint16_t>(base, index));
    case data_type_t::f16: return f16_to_f32(load_as<uint16_t>(base, index));
    default: break;
    }
    if (is_floating(type))
        return small_float_to_f32(type, small_bits(type, base, index));
    return static_cast<float>(load_int(type, base, index));
}

void store_f32(data_type_t type, void *base, dim_t index, float value) {
    switch (type) {
    case data_type_t::bf16:
        store_as<uint16_t>(base, index, f32_to_bf16(value));
        break;
    case data_type_t::f16:
        store_as<uint16_t>(base, index, f32_to_f16(value));
        break;
    case data_type_t::f32: store_as<float>(base, index, value); break;
    default: store_small(type, base, index, f32_to_small_float(type, value));
    }
}

} // namespace dnnl_dequant
