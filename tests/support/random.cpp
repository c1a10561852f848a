#include "support/random.hpp"

#include <cstring>
#include <limits>

#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace support {

uint64_t random_t::bits() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

dim_t random_t::between(dim_t low, dim_t high) {
    const auto width = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<dim_t>((bits() >> 1) % width);
}

std::vector<size_t> any_order(random_t &random, size_t count) {
    std::vector<size_t> order;
    for (size_t i = 0; i < count; ++i)
        order.insert(
                order.begin()
                        + random.between(0, static_cast<dim_t>(order.size())),
                i);
    return order;
}

void fill_bits(void *data, size_t bytes, random_t &random) {
    auto *out = static_cast<unsigned char *>(data);
    while (bytes > 0) {
        const uint64_t word = random.bits();
        const size_t part = bytes < sizeof(word) ? bytes : sizeof(word);
        std::memcpy(out, &word, part);
        out += part;
        bytes -= part;
    }
}

namespace {

// Near powers of two f32 runs out of bits, and kernels out of ways.
template <typename T>
T near_a_power_of_two(random_t &random) {
    static const std::vector<int> powers {10, 15, 22, 23, 24, 31};
    const dim_t power = dim_t {1} << random.pick(powers);
    const dim_t near = power + random.between(-2, 2);
    return static_cast<T>(random.one_in(2) ? near : -near);
}

template <typename T>
void fill_wide(void *data, size_t bytes, random_t &random) {
    auto *out = static_cast<unsigned char *>(data);
    for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T value = static_cast<T>(random.bits());
        switch (random.between(0, 5)) {
        case 0: value = std::numeric_limits<T>::min(); break;
        case 1: value = std::numeric_limits<T>::max(); break;
        case 2: break;
        case 3: value = near_a_power_of_two<T>(random); break;
        default: value = static_cast<T>(random.between(-300, 300));
        }
        std::memcpy(out + i, &value, sizeof(T));
    }
}

void fill_bytes(void *data, size_t bytes, random_t &random) {
    static const std::vector<unsigned char> ends {
            0x00, 0x01, 0x7f, 0x80, 0x81, 0xff, 0x88, 0x77, 0xf0, 0x0f};
    fill_bits(data, bytes, random);
    auto *out = static_cast<unsigned char *>(data);
    for (size_t i = 0; i < bytes; ++i)
        if (random.one_in(5)) out[i] = random.pick(ends);
}

// Powers of two about one.
void fill_e8m0(void *data, size_t bytes, random_t &random) {
    auto *out = static_cast<unsigned char *>(data);
    for (size_t i = 0; i < bytes; ++i)
        out[i] = static_cast<unsigned char>(random.between(120, 134));
}

double ordinary_value(random_t &random) {
    // Enough significant bits that every product has to be rounded.
    const double magnitude
            = static_cast<double>(random.between(1, 1 << 24)) * 0x1p-23;
    return random.one_in(2) ? magnitude : -magnitude;
}

uint32_t extreme_bits(const format_t &format, random_t &random) {
    const uint32_t sign = random.one_in(2) ? format.sign_bit() : 0;
    const uint32_t infinity = format.infinity();
    switch (random.between(0, 6)) {
    case 0: return sign;      // zero
    case 1: return sign | 1u; // least subnormal
    case 2: return sign | ((1u << format.fraction_bits) - 1u);
    case 3: return sign | 1u << format.fraction_bits; // least normal
    case 4: return sign | (infinity - 1u);            // largest finite
    default: {
        const auto any = static_cast<uint32_t>(random.bits() >> 8);
        return sign | any % infinity;
    }
    }
}

uint32_t bits_for(const format_t &format, values_t values, random_t &random) {
    if (values == values_t::any && random.one_in(6)) {
        const uint32_t sign = random.one_in(2) ? format.sign_bit() : 0;
        const uint32_t quiet = 1u << (format.fraction_bits - 1);
        return sign | format.infinity() | (random.one_in(2) ? quiet : 0);
    }
    if (values != values_t::ordinary && random.one_in(2))
        return extreme_bits(format, random);
    return round_to(format, ordinary_value(random));
}

} // namespace

void fill_integers(
        data_type_t type, void *data, size_t bytes, random_t &random) {
    if (type == data_type_t::u32)
        return fill_wide<uint32_t>(data, bytes, random);
    switch (bits_of(type)) {
    case 32: fill_wide<int32_t>(data, bytes, random); break;
    case 64: fill_wide<int64_t>(data, bytes, random); break;
    default: fill_bytes(data, bytes, random);
    }
}

void fill_floats(data_type_t type, void *data, size_t bytes, values_t values,
        random_t &random) {
    if (type == data_type_t::e8m0 && values == values_t::ordinary)
        return fill_e8m0(data, bytes, random);
    if (bits_of(type) <= 8) return fill_bytes(data, bytes, random);
    const format_t &format = format_of(type);
    const auto size = static_cast<size_t>(bits_of(type)) / 8;
    auto *out = static_cast<unsigned char *>(data);
    for (size_t i = 0; i + size <= bytes; i += size) {
        // Little endian: the low bytes are the value.
        const uint32_t bits = bits_for(format, values, random);
        std::memcpy(out + i, &bits, size);
    }
}

} // namespace support
} // namespace dnnl_dequant
