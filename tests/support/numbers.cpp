#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

namespace dnnl_dequant {
namespace support {

const format_t &format_of(data_type_t type) {
    static const format_t f32 {32, 23, -126}, bf16 {16, 7, -126},
            f16 {16, 10, -14};
    switch (type) {
    case data_type_t::f32: return f32;
    case data_type_t::bf16: return bf16;
    case data_type_t::f16: return f16;
    default: throw std::invalid_argument("not a floating type");
    }
}

namespace {

// Tests spend most of their time on numbers, where calls of ldexp and ilogb
// would take the most of it. Both are for the normal doubles alone.
double power_of_two(int exponent) {
    const auto bits = static_cast<uint64_t>(exponent + 1023) << 52;
    double power;
    std::memcpy(&power, &bits, sizeof(power));
    return power;
}

int exponent_of(double positive) {
    uint64_t bits;
    std::memcpy(&bits, &positive, sizeof(bits));
    return static_cast<int>(bits >> 52) - 1023;
}

} // namespace

uint32_t round_to(const format_t &format, double value) {
    const uint32_t sign = std::signbit(value) ? format.sign_bit() : 0;
    if (std::isnan(value)) return sign | (format.sign_bit() - 1u);
    if (std::isinf(value)) return sign | format.infinity();
    if (value == 0) return sign;
    const double magnitude = std::fabs(value);
    int exponent = exponent_of(magnitude);
    if (exponent < format.least_exponent) exponent = format.least_exponent;
    // In units of the last place; a double holds them with room to spare.
    const double units = std::nearbyint(
            magnitude * power_of_two(format.fraction_bits - exponent));
    // The bits of a positive number count units from zero, evenly within a
    // binade and half as wide in the one below.
    const auto count = static_cast<uint64_t>(units);
    const auto binade = static_cast<uint64_t>(exponent - format.least_exponent);
    const uint64_t bits = (binade << format.fraction_bits) + count;
    if (bits >= format.infinity()) return sign | format.infinity();
    return sign | static_cast<uint32_t>(bits);
}

double value_of(const format_t &format, uint32_t bits) {
    const uint32_t magnitude = bits & (format.sign_bit() - 1u);
    const double sign = (bits & format.sign_bit()) ? -1 : 1;
    if (magnitude == format.infinity())
        return sign * std::numeric_limits<double>::infinity();
    if (magnitude > format.infinity())
        return std::numeric_limits<double>::quiet_NaN();
    const uint32_t one = 1u << format.fraction_bits;
    const uint32_t fraction = magnitude % one;
    const auto biased = static_cast<int>(magnitude / one);
    const int exponent = (biased ? biased - 1 : 0) + format.least_exponent
                         - format.fraction_bits;
    return sign * (biased ? one + fraction : fraction) * power_of_two(exponent);
}

namespace {

template <typename T>
T at(const void *data, dim_t index) {
    T value;
    std::memcpy(&value,
            static_cast<const char *>(data)
                    + index * static_cast<dim_t>(sizeof(T)),
            sizeof(T));
    return value;
}

} // namespace

int64_t integer_at(data_type_t type, const void *data, dim_t index) {
    switch (type) {
    case data_type_t::u2:
    case data_type_t::s2: {
        const int value = at<uint8_t>(data, index / 4) >> index % 4 * 2 & 3;
        return type == data_type_t::s2 && value > 1 ? value - 4 : value;
    }
    case data_type_t::s8: return at<int8_t>(data, index);
    case data_type_t::s16: return at<int16_t>(data, index);
    case data_type_t::u16: return at<uint16_t>(data, index);
    case data_type_t::u32: return at<uint32_t>(data, index);
    case data_type_t::u8: return at<uint8_t>(data, index);
    case data_type_t::s32: return at<int32_t>(data, index);
    case data_type_t::s64: return at<int64_t>(data, index);
    case data_type_t::u4:
    case data_type_t::s4: {
        const int byte = at<uint8_t>(data, index / 2);
        const int value = index % 2 ? byte / 16 : byte % 16;
        return type == data_type_t::s4 && value > 7 ? value - 16 : value;
    }
    default: throw std::invalid_argument("not an integer type");
    }
}

namespace {

// One of the small formats, straight from its definition: `code` has
// `fraction_bits` bits of fraction below those of the exponent, no sign.
double small_value(uint32_t code, int fraction_bits, int bias) {
    const uint32_t one = 1u << fraction_bits;
    const auto exponent = static_cast<int>(code / one);
    const double fraction = code % one / static_cast<double>(one);
    if (exponent == 0) return fraction * power_of_two(1 - bias);
    return (1 + fraction) * power_of_two(exponent - bias);
}

double small_float(data_type_t type, uint32_t code) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (type == data_type_t::e8m0)
        return code == 255 ? nan : power_of_two(static_cast<int>(code) - 127);
    const uint32_t sign_bit = type == data_type_t::f4_e2m1 ? 8 : 128;
    const uint32_t magnitude = code % sign_bit;
    const double sign = code >= sign_bit ? -1 : 1;
    switch (type) {
    case data_type_t::f4_e2m1: return sign * small_value(magnitude, 1, 1);
    case data_type_t::f8_e4m3:
        return magnitude == 0x7f ? nan : sign * small_value(magnitude, 3, 7);
    case data_type_t::f8_e5m2:
        if (magnitude > 0x7c) return nan;
        if (magnitude == 0x7c)
            return sign * std::numeric_limits<double>::infinity();
        return sign * small_value(magnitude, 2, 15);
    case data_type_t::f8_e4m3fnuz:
        return code == 0x80 ? nan : sign * small_value(magnitude, 3, 8);
    case data_type_t::f8_e5m2fnuz:
        return code == 0x80 ? nan : sign * small_value(magnitude, 2, 16);
    default: throw std::invalid_argument("not a floating type");
    }
}

} // namespace

double float_at(data_type_t type, const void *data, dim_t index) {
    if (bits_of(type) > 8)
        return value_of(format_of(type), bits_at(type, data, index));
    if (type != data_type_t::f4_e2m1)
        return small_float(type, at<uint8_t>(data, index));
    const uint32_t byte = at<uint8_t>(data, index / 2);
    return small_float(type, index % 2 ? byte / 16 : byte % 16);
}

uint32_t bits_at(data_type_t type, const void *data, dim_t index) {
    switch (bits_of(type)) {
    case 32: return at<uint32_t>(data, index);
    case 16: return at<uint16_t>(data, index);
    default: break;
    }
    const auto bits = static_cast<dim_t>(bits_of(type));
    const uint32_t byte = at<uint8_t>(data, index * bits / 8);
    return byte >> (index * bits % 8) & ((1u << bits) - 1u);
}

void put_bits(data_type_t type, void *data, dim_t index, uint32_t bits) {
    const dim_t count = bits_of(type);
    auto *bytes = static_cast<unsigned char *>(data);
    if (count >= 8) {
        // Little endian: the low bytes are the value.
        std::memcpy(bytes + index * (count / 8), &bits,
                static_cast<size_t>(count / 8));
        return;
    }
    for (dim_t b = 0; b < count; ++b) {
        const dim_t place = index * count + b;
        const auto mask = static_cast<unsigned char>(1u << place % 8);
        auto &byte = bytes[place / 8];
        if (bits >> b & 1u) byte = static_cast<unsigned char>(byte | mask);
        else byte = static_cast<unsigned char>(byte & ~mask);
    }
}

namespace {

uint32_t nearest_integer(data_type_t type, double quotient, double zp) {
    const int bits = bits_of(type);
    const bool is_signed = family_of(type) == type_family_t::signed_int;
    const double highest = std::ldexp(1, is_signed ? bits - 1 : bits) - 1;
    const double lowest = is_signed ? -highest - 1 : 0;
    double value = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
    // Doubles hold what matters of the sum exactly.
    value = std::fmin(std::fmax(value + zp, lowest), highest);
    const auto whole = static_cast<uint64_t>(static_cast<int64_t>(value));
    return static_cast<uint32_t>(whole & ((uint64_t {1} << bits) - 1u));
}

// The values of the codes from 0 on, as far as they are finite.
const std::vector<double> &positive_values(data_type_t type) {
    static std::map<data_type_t, std::vector<double>> all;
    auto &values = all[type];
    const uint32_t sign_bit = type == data_type_t::f4_e2m1 ? 8 : 128;
    for (auto code = static_cast<uint32_t>(values.size());
            code < sign_bit && std::isfinite(small_float(type, code)); ++code)
        values.push_back(small_float(type, code));
    return values;
}

uint32_t nearest_small_float(data_type_t type, double value) {
    const bool is_f4 = type == data_type_t::f4_e2m1;
    const uint32_t sign_bit = is_f4 ? 8 : 128;
    const bool unsigned_nan = type == data_type_t::f8_e4m3fnuz
                              || type == data_type_t::f8_e5m2fnuz;
    if (std::isnan(value)) {
        if (is_f4) return 0;
        return unsigned_nan ? sign_bit : sign_bit - 1;
    }
    const auto &values = positive_values(type);
    const double magnitude = std::fabs(value);
    const auto above
            = std::lower_bound(values.begin(), values.end(), magnitude);
    auto code = static_cast<uint32_t>(above - values.begin());
    const auto count = static_cast<uint32_t>(values.size());
    // One more number, were there one, follows as far as the last did.
    const double next = above != values.end()
                                ? *above
                                : 2 * values[count - 1] - values[count - 2];
    if (code > 0) {
        const double middle = (values[code - 1] + next) / 2;
        if (magnitude < middle || (magnitude == middle && code % 2 != 0))
            --code;
    }
    if (code >= count) {
        if (unsigned_nan) return sign_bit;
        code = is_f4 ? count - 1 : count; // infinity, or the NaN above
    }
    if (code == 0 && unsigned_nan) return 0;
    return std::signbit(value) ? code | sign_bit : code;
}

} // namespace

uint32_t quantized_bits(
        data_type_t type, double quotient, double zp, bool saturated) {
    if (!is_floating(type)) return nearest_integer(type, quotient, zp);
    const format_t &f32 = format_of(data_type_t::f32);
    double value = value_of(f32, round_to(f32, quotient + zp));
    double largest = 0;
    switch (type) {
    case data_type_t::f8_e4m3: largest = 448; break;
    case data_type_t::f8_e4m3fnuz: largest = 240; break;
    case data_type_t::f8_e5m2:
    case data_type_t::f8_e5m2fnuz: largest = 57344; break;
    case data_type_t::f4_e2m1: largest = 6; break;
    case data_type_t::f32: return round_to(f32, value);
    default:
        largest = value_of(format_of(type), format_of(type).infinity() - 1);
    }
    if (saturated && std::fabs(value) > largest)
        value = std::copysign(largest, value);
    return bits_of(type) > 8 ? round_to(format_of(type), value)
                             : nearest_small_float(type, value);
}

} // namespace support
} // namespace dnnl_dequant
