#ifndef KERNELS_JIT_TWO_BITS_HPP
#define KERNELS_JIT_TWO_BITS_HPP

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Loads integers of 2 bits as nibbles in their order, whose upper bits are 0.
/// @param nibbles A vector of any width.
/// @param from Half as many bytes, in memory or a register.
/// @param scratch A vector as wide as `nibbles`.
template <isa_t isa>
void load_two_bits(jit_generator_t &host, const Xbyak::Xmm &nibbles,
        const Xbyak::Operand &from, const Xbyak::Xmm &scratch) {
    constexpr uint8_t or_and = 0xa8; // (nibbles | scratch) & bits
    const auto move_up = [&](uint8_t by, uint32_t bits) {
        host.vpsllw(scratch, nibbles, by);
        if (isa == isa_avx512_core) {
            host.vpternlogd(nibbles, scratch, host.constant(bits), or_and);
        } else {
            host.vpor(nibbles, nibbles, scratch);
            host.vpand(nibbles, nibbles, host.constant(bits));
        }
    };
    host.vpmovzxbw(nibbles, from);
    move_up(4, 0x0f0f0f0f);
    move_up(2, 0x33333333);
}

} // namespace dnnl_dequant

#endif
