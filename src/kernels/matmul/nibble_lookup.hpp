#ifndef KERNELS_MATMUL_NIBBLE_LOOKUP_HPP
#define KERNELS_MATMUL_NIBBLE_LOOKUP_HPP

#include <algorithm>
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

/// Puts a row of src, in whole steps, into the order in which weights are
/// decoded: element i of a step goes to place(i).
template <typename element_t, typename place_t>
void arrange_steps(
        element_t *row, dim_t depth, dim_t step, const place_t &place) {
    constexpr dim_t most_elements = 128;
    element_t natural[most_elements];
    for (dim_t k = 0; k < depth; k += step) {
        std::copy_n(row + k, step, natural);
        for (dim_t i = 0; i < step; ++i)
            row[k + place(i)] = natural[i];
    }
}

/// The sum of partial ones: the upper half is added to the lower one until one
/// is left.
template <size_t parts>
float sum_of_parts(const float *p) {
    constexpr size_t half = parts / 2;
    float halves[half];
    for (size_t i = 0; i < half; ++i)
        halves[i] = p[i] + p[i + half];
    if constexpr (half == 1) return halves[0];
    else return sum_of_parts<half>(halves);
}

/// Makes c of a block whose partial sums lie side by side.
template <dim_t parts>
void add_partial_sums(const gemv_t::block_t &block) noexcept {
    for (dim_t r = 0; r < block.rows; ++r)
        for (dim_t n = 0; n < block.cols; ++n) {
            const dim_t at = r * block.c_pitch + n;
            block.c[at] = sum_of_parts<parts>(block.partial + at * parts);
        }
}

} // namespace dnnl_dequant

#endif
