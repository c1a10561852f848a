#ifndef KERNELS_MATMUL_NIBBLE_LOOKUP_HPP
#define KERNELS_MATMUL_NIBBLE_LOOKUP_HPP

#include <cstring>

#include "kernels/jit/lanes.hpp"
#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

/// A bf16 scale's NaN has nothing below the bits of a bf16, nor has a weight
/// that it was multiplied with.
inline bf16_rounding_t weights_rounding(const gemv_weights_t &weights) {
    return weights.scales.type == data_type_t::bf16 ? bf16_rounding_t::plain
                                                    : bf16_rounding_t::with_nan;
}

/// What each nibble of type u4 or s4 stands for, as f32.
inline jit_generator_t::lanes_t nibble_numbers(data_type_t type) {
    const bool is_signed = family_of(type) == type_family_t::signed_int;
    jit_generator_t::lanes_t lanes;
    for (size_t i = 0; i < lanes.size(); ++i) {
        const int n = static_cast<int>(i);
        const auto value = static_cast<float>(is_signed && n > 7 ? n - 16 : n);
        std::memcpy(&lanes[i], &value, sizeof(value));
    }
    return lanes;
}

// Constants of AVX2, where the 16 bytes of a step's nibbles are broadcast to
// both lanes, and the upper one has those of the bytes' upper halves.

/// What brings a step's nibbles to the lower halves of bytes.
inline jit_generator_t::lanes_t nibble_shifts() {
    jit_generator_t::lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = i % 8 / 4 * 4;
    return lanes;
}

/// Puts byte i of four f32 side by side, for each i.
inline jit_generator_t::lanes_t bytes_apart() {
    jit_generator_t::lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = 0x0c080400u + i % 4 * 0x01010101u;
    return lanes;
}

/// The numbers 0 to 3 and 8 to 11, or 4 to 7 and 12 to 15: unpacking the two
/// puts them in order.
inline jit_generator_t::lanes_t unpacked_numbers(
        data_type_t type, size_t half) {
    const auto all = nibble_numbers(type);
    jit_generator_t::lanes_t some {};
    for (size_t n = 0; n < 8; ++n)
        some[n] = all[n % 4 + n / 4 * 8 + half * 4];
    return some;
}

/// The highest bits of indices beyond a step's first `tail`: those get zeros.
inline jit_generator_t::lanes_t indices_beyond(int tail) {
    jit_generator_t::lanes_t lanes {};
    for (int i = 0; i < 32; ++i) {
        const int element = i % 16 * 2 + i / 16;
        if (element >= tail)
            lanes[static_cast<size_t>(i / 4)] |= 0x80u << (i % 4 * 8);
    }
    return lanes;
}

} // namespace dnnl_dequant

#endif
