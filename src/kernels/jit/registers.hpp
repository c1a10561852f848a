#ifndef KERNELS_JIT_REGISTERS_HPP
#define KERNELS_JIT_REGISTERS_HPP

#include <xbyak/xbyak.h>

#include "base/isa.hpp"

namespace dnnl_dequant {

/// The vector registers of an instruction set: their type, the 32-bit lanes in
/// one and how many there are.
template <isa_t isa>
struct jit_isa_t;

template <>
struct jit_isa_t<isa_avx512_core> {
    using vmm_t = Xbyak::Zmm;
    static constexpr int simd_w = 16;
    static constexpr int vmm_count = 32;
};

template <>
struct jit_isa_t<isa_avx2> {
    using vmm_t = Xbyak::Ymm;
    static constexpr int simd_w = 8;
    static constexpr int vmm_count = 16;
};

template <>
struct jit_isa_t<isa_avx512_core_vnni> : jit_isa_t<isa_avx512_core> {};

template <>
struct jit_isa_t<isa_avx_vnni> : jit_isa_t<isa_avx2> {};

} // namespace dnnl_dequant

#endif
