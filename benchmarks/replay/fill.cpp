#include "fill.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "formula.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

enum class role_t { any, codes, scales, zps, divisor, variance, condition };

struct use_t {
    role_t role = role_t::any;
    type_t quantized = type_t::undef; // of scales and zps: what they belong to
};

bool takes_scales(op_kind_t kind) {
    return is_dequantize(kind) || kind == op_kind_t::DynamicQuantize;
}

use_t use_of(const graph_file_t &file, const graph_op_t &op, size_t port) {
    const auto type_of = [&](const std::vector<size_t> &ids) {
        return ids.empty() ? type_t::undef : file.values.at(ids[0]).type;
    };
    if (takes_scales(op.kind)) {
        const bool dequantize = is_dequantize(op.kind);
        const type_t type = type_of(dequantize ? op.inputs : op.outputs);
        if (port == 1) return {role_t::scales, type};
        if (port == 2) return {role_t::zps, type};
        return {dequantize ? role_t::codes : role_t::any, type};
    }
    if (op.kind == op_kind_t::Divide && port == 1) return {role_t::divisor, {}};
    if (op.kind == op_kind_t::BatchNormInference && port == 4)
        return {role_t::variance, {}};
    if (op.kind == op_kind_t::Select && port == 0)
        return {role_t::condition, {}};
    if (op.kind == op_kind_t::Sqrt || op.kind == op_kind_t::Log
            || op.kind == op_kind_t::Pow)
        return {role_t::divisor, {}};
    return {};
}

// The first op that says something of the value.
use_t use_of(const graph_file_t &file, size_t value) {
    for (const auto &op : file.ops)
        for (size_t port = 0; port < op.inputs.size(); port++) {
            if (op.inputs[port] != value) continue;
            const use_t use = use_of(file, op, port);
            if (use.role != role_t::any) return use;
        }
    return {};
}

using random_t = std::minstd_rand;

// Scales of codes of so many bits: codes times scales are about +-1, and no
// product is a subnormal, where implementations may differ.
float scale_of(type_t quantized, random_t &random) {
    std::uniform_real_distribution<float> magnitude(0.5f, 1.f);
    if (is_floating(quantized)) return magnitude(random);
    const int bits = static_cast<int>(bits_of(quantized));
    return std::ldexp(magnitude(random), std::max(1 - bits, -14));
}

float float_of(const use_t &use, random_t &random) {
    std::uniform_real_distribution<float> unit(0.f, 1.f);
    switch (use.role) {
    case role_t::scales: return scale_of(use.quantized, random);
    case role_t::zps: return 0; // of float 8: the only one there is
    case role_t::divisor: return 1 + unit(random);
    case role_t::variance: return 0.5f + unit(random);
    default: return 2 * unit(random) - 1;
    }
}

// Codes near the middle of the quantized type, in the zero points' own.
int64_t zero_point(type_t zps, type_t quantized, random_t &random) {
    if (is_floating(quantized)) return 0;
    const int bits = static_cast<int>(std::min<dim_t>(bits_of(quantized), 8));
    const int64_t spread = int64_t {1} << std::max(bits - 2, 0);
    const int64_t middle = is_signed(quantized) ? 0 : int64_t {1} << (bits - 1);
    const int64_t zp = middle + static_cast<int64_t>(random() >> 8) % spread
                       - spread / 2;
    return is_signed(zps) ? zp : std::max<int64_t>(zp, 0);
}

void fill_floats(const use_t &use, type_t type, void *memory, size_t size,
        random_t &random) {
    char *to = static_cast<char *>(memory);
    const size_t width = bytes_of(type, 1);
    for (size_t i = 0; i + width <= size; i += width) {
        const float value = float_of(use, random);
        const uint32_t bits = round_to(type, value);
        const double wide = static_cast<double>(value);
        if (width == 8) std::memcpy(to + i, &wide, 8);
        else std::memcpy(to + i, &bits, width);
    }
}

void fill_zps(const use_t &use, type_t type, void *memory, size_t size,
        random_t &random) {
    const dim_t bits = bits_of(type);
    const dim_t count = static_cast<dim_t>(size) * 8 / bits;
    std::memset(memory, 0, size);
    uint8_t *to = static_cast<uint8_t *>(memory);
    for (dim_t i = 0; i < count; i++) {
        const int64_t zp = zero_point(type, use.quantized, random);
        if (bits >= 8)
            std::memcpy(to + i * bits / 8, &zp, static_cast<size_t>(bits / 8));
        else
            to[i * bits / 8] = static_cast<uint8_t>(
                    to[i * bits / 8]
                    | ((zp & ((1 << bits) - 1)) << (i * bits % 8)));
    }
}

// Any bits are an integer.
void fill_bytes(void *memory, size_t size, int mask, random_t &random) {
    uint8_t *to = static_cast<uint8_t *>(memory);
    for (size_t i = 0; i < size; i++)
        to[i] = static_cast<uint8_t>(static_cast<int>(random() >> 8) & mask);
}

} // namespace

void fill_value(
        const graph_file_t &file, size_t value, void *memory, size_t size) {
    const type_t type = file.values.at(value).type;
    const use_t use = use_of(file, value);
    random_t random(static_cast<unsigned>(value % 1000003) + 1);
    if (type == type_t::boolean || use.role == role_t::condition)
        fill_bytes(memory, size, 1, random);
    else if (is_floating(type) && bits_of(type) >= 16)
        fill_floats(use, type, memory, size, random);
    else if (use.role == role_t::zps) fill_zps(use, type, memory, size, random);
    else if (type == type_t::s32 && use.role == role_t::any) // indices, sums
        std::memset(memory, 0, size);
    else if (to_string(type) == std::string("e8m0"))
        std::memset(memory, 127 - 6, size); // 2^-6
    else if (is_floating(type) && bits_of(type) == 8)
        // Without the exponent's highest bit none is NaN by OCP's formats.
        fill_bytes(memory, size, 0xbf, random);
    else fill_bytes(memory, size, 0xff, random);
}

} // namespace bench
} // namespace dnnl_dequant
