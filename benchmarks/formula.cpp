#include "formula.hpp"

#include <cmath>
#include <cstring>

namespace dnnl_dequant {
namespace bench {

namespace {

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

uint32_t f32_to_bf16(float value) {
    const uint32_t bits = bits_of_f32(value);
    if (std::isnan(value)) return (bits >> 16) | 0x40u;
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// Through the spacing of f16 numbers around the value, in which a double
// rounds to nearest even by itself.
uint32_t f32_to_f16(float value) {
    const uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
    if (std::isnan(value)) return sign | 0x7e00u;
    const double magnitude = std::fabs(static_cast<double>(value));
    if (magnitude >= 65520.0) return sign | 0x7c00u;
    if (magnitude < 0x1p-25) return sign;
    int exponent = 0;
    std::frexp(magnitude, &exponent); // magnitude < 2^exponent
    const int scale = exponent < -13 ? -24 : exponent - 11;
    const double steps = std::nearbyint(std::ldexp(magnitude, -scale));
    // Mantissa and exponent are adjacent: a carry runs from one to the other.
    const uint32_t base = static_cast<uint32_t>(scale + 24) << 10;
    return sign | (base + static_cast<uint32_t>(steps));
}

float f16_to_f32(uint32_t bits) {
    const int exponent = static_cast<int>((bits >> 10) & 31u);
    const int mantissa = static_cast<int>(bits & 1023u);
    double value;
    if (exponent == 31)
        value = mantissa == 0 ? static_cast<double>(INFINITY)
                              : static_cast<double>(NAN);
    else if (exponent == 0) value = std::ldexp(mantissa, -24);
    else value = std::ldexp(mantissa + 1024, exponent - 25);
    return static_cast<float>((bits & 0x8000u) != 0 ? -value : value);
}

template <typename T>
T read_as(const void *base, dim_t index) {
    T value;
    std::memcpy(&value,
            static_cast<const char *>(base)
                    + static_cast<size_t>(index) * sizeof(T),
            sizeof(T));
    return value;
}

int64_t integer_at(type_t type, const void *base, dim_t index) {
    switch (type) {
    case type_t::s32: return read_as<int32_t>(base, index);
    case type_t::s8: return read_as<int8_t>(base, index);
    case type_t::u8: return read_as<uint8_t>(base, index);
    default: break;
    }
    const int byte = read_as<uint8_t>(base, index / 2);
    const int nibble = index % 2 == 0 ? byte & 15 : byte >> 4;
    return type == type_t::s4 && nibble > 7 ? nibble - 16 : nibble;
}

uint32_t bits_at(type_t type, const void *base, dim_t index) {
    return type == type_t::f32 ? read_as<uint32_t>(base, index)
                               : read_as<uint16_t>(base, index);
}

bool is_zero(type_t type, uint32_t bits) {
    return (bits << (type == type_t::f32 ? 1 : 17)) == 0;
}

} // namespace

uint32_t round_to(type_t type, float value) {
    switch (type) {
    case type_t::bf16: return f32_to_bf16(value);
    case type_t::f16: return f32_to_f16(value);
    default: return bits_of_f32(value);
    }
}

float to_f32(type_t type, uint32_t bits) {
    switch (type) {
    case type_t::bf16: return f32_of_bits(bits << 16);
    case type_t::f16: return f16_to_f32(bits);
    default: return f32_of_bits(bits);
    }
}

uint32_t expected_bits(
        const bench_case_t &c, const buffers_t &b, dim_t row, dim_t col) {
    const dim_t at_src = c.transposed ? col * c.rows + row : row * c.cols + col;
    const dim_t at_scale
            = row / c.shared_rows() * c.scale_cols() + col / c.shared_cols();
    int64_t difference = integer_at(c.src, b.src, at_src);
    if (c.zps != type_t::undef)
        difference -= integer_at(c.zps, b.zps, at_scale);
    const float scale = to_f32(c.dst, bits_at(c.dst, b.scales, at_scale));
    return round_to(c.dst, static_cast<float>(difference) * scale);
}

check_t check_result(const bench_case_t &c, const buffers_t &b, size_t most) {
    check_t check;
    const size_t n = static_cast<size_t>(c.elements());
    // An odd step meets every position within vectors and groups.
    const size_t step = n <= most ? 1 : (n / most) | 1u;
    for (size_t i = 0; i < n; i += step) {
        const dim_t at = static_cast<dim_t>(i);
        const uint32_t want = expected_bits(c, b, at / c.cols, at % c.cols);
        const uint32_t got = bits_at(c.dst, b.dst, at);
        check.checked++;
        if (got == want) continue;
        check.wrong++;
        if (is_zero(c.dst, got) && is_zero(c.dst, want)) check.sign_of_zero++;
    }
    return check;
}

} // namespace bench
} // namespace dnnl_dequant
