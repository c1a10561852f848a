#ifndef KERNELS_SKINNY_GEMM_JIT_BYTE_TABLES_HPP
#define KERNELS_SKINNY_GEMM_JIT_BYTE_TABLES_HPP

#include "kernels/jit/nibble_numbers.hpp"

namespace dnnl_dequant {

/// Constants of lookups on AVX2. vpshufb looks up 32 nibbles at once, of which
/// each has a byte to itself, in the same table of 16 bytes in both 128-bit
/// lanes. So each byte of a result has a table of its own.

/// Shift counts for a step's 16 bytes of nibbles in both 128-bit lanes. The
/// lower lane takes the lower halves; the upper lane shifts the upper halves
/// down.
inline jit_generator_t::lanes_t nibble_shifts() {
    jit_generator_t::lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = i % 8 / 4 * 4;
    return lanes;
}

/// For vpshufb: puts byte i of four f32 side by side, for each i.
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

} // namespace dnnl_dequant

#endif
