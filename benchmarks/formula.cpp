#include "formula.hpp"

#include <cmath>
#include <cstring>

#include "quantize_formula.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

uint32_t bits_of_f32(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
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

bool is_nan(type_t type, uint32_t bits) {
    return std::isnan(to_f32(type, bits));
}

bool is_zero(type_t type, uint32_t bits) {
    return to_f32(type, bits) == 0;
}

} // namespace

dims_t dense_strides(const dims_t &dims) {
    dims_t strides(dims.size());
    dim_t stride = 1;
    for (size_t i = dims.size(); i-- > 0; stride *= dims[i])
        strides[i] = stride;
    return strides;
}

int64_t integer_of(const element_t &element) {
    const int64_t value = bits_at(element);
    const int64_t half = int64_t {1} << (bits_of(element.type) - 1);
    return is_signed(element.type) && value >= half ? value - 2 * half : value;
}

uint32_t bits_at(const element_t &element) {
    const dim_t bits = bits_of(element.type), first = element.index * bits;
    const uint8_t *from
            = static_cast<const uint8_t *>(element.base) + first / 8;
    uint32_t code = 0;
    std::memcpy(&code, from, static_cast<size_t>((bits + 7) / 8));
    const uint64_t mask = (uint64_t {1} << bits) - 1;
    return static_cast<uint32_t>((code >> first % 8) & mask);
}

float value_of(const element_t &element) {
    if (is_floating(element.type))
        return to_f32(element.type, bits_at(element));
    return static_cast<float>(integer_of(element));
}

float difference_of(const element_t &x, const element_t &zp) {
    if (zp.type == type_t::undef) return value_of(x);
    if (is_floating(x.type)) return value_of(x) - value_of(zp);
    return static_cast<float>(integer_of(x) - integer_of(zp));
}

void count_bits(check_t &check, type_t type, uint32_t got, uint32_t want) {
    check.checked++;
    if (got == want || (is_nan(type, got) && is_nan(type, want))) return;
    check.wrong++;
    if (is_zero(type, got) && is_zero(type, want)) check.sign_of_zero++;
}

uint32_t round_to(type_t type, float value) {
    switch (type) {
    case type_t::bf16: return f32_to_bf16(value);
    case type_t::f16: return f32_to_f16(value);
    default: return bits_of_f32(value);
    }
}

float to_f32(type_t type, uint32_t bits) {
    if (!is_signed(type)) // e8m0: a power of two, or NaN
        return bits == 0xff ? NAN
                            : std::ldexp(1.f, static_cast<int>(bits) - 127);
    const dim_t width = bits_of(type);
    const int fraction = fraction_bits(type), bias = exponent_bias(type);
    const uint32_t sign = uint32_t {1} << (width - 1);
    const uint32_t magnitude = bits & (sign - 1);
    const int exponent = static_cast<int>(magnitude >> fraction);
    const uint32_t implied = uint32_t {1} << fraction;
    const uint32_t mantissa = magnitude & (implied - 1);
    const int highest = (1 << (static_cast<int>(width) - 1 - fraction)) - 1;
    double value;
    if (type == type_t::f8_e4m3 && magnitude == sign - 1) return NAN;
    if (is_fnuz(type) && bits == sign) return NAN;
    // f8_e4m3, fnuz and f4_e2m1 have numbers where the others have infinities.
    if (exponent == highest && type != type_t::f8_e4m3 && !is_fnuz(type)
            && width > 4)
        value = mantissa == 0 ? static_cast<double>(INFINITY)
                              : static_cast<double>(NAN);
    else if (exponent == 0) value = std::ldexp(mantissa, 1 - bias - fraction);
    else value = std::ldexp(implied + mantissa, exponent - bias - fraction);
    return static_cast<float>((bits & sign) != 0 ? -value : value);
}

formula_t::formula_t(const bench_case_t &c, const buffers_t &b)
    : c_(c)
    , b_(b)
    , shared_(c.shared())
    , src_strides_(c.transposed ? dims_t {1, c.dims[0]} : dense_strides(c.dims))
    , scale_strides_(dense_strides(c.scale_grid())) {}

uint32_t formula_t::expected_bits(dim_t at) const {
    dim_t at_src = 0, at_scale = 0;
    for (size_t i = c_.dims.size(); i-- > 0; at /= c_.dims[i]) {
        const dim_t position = at % c_.dims[i];
        at_src += position * src_strides_[i];
        at_scale += position / shared_[i] * scale_strides_[i];
    }
    const float scale = value_of({c_.scales(), b_.scales, at_scale});
    return round_to(c_.dst,
            difference_of({c_.src, b_.src, at_src}, {c_.zps, b_.zps, at_scale})
                    * scale);
}

check_t check_result(const bench_case_t &c, const buffers_t &b, size_t most) {
    if (quantizes(c.op)) return check_quantized(c, b, most);
    const formula_t formula(c, b);
    check_t check;
    const size_t n = static_cast<size_t>(c.elements());
    // An odd step meets every position within vectors and groups.
    const size_t step = n <= most ? 1 : (n / most) | 1u;
    for (size_t i = 0; i < n; i += step) {
        const dim_t at = static_cast<dim_t>(i);
        count_bits(check, c.dst, bits_at({c.dst, b.dst, at}),
                formula.expected_bits(at));
    }
    return check;
}

} // namespace bench
} // namespace dnnl_dequant
