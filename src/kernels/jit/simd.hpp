#ifndef KERNELS_JIT_SIMD_HPP
#define KERNELS_JIT_SIMD_HPP

#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// The operations whose instructions differ from one instruction set to the
/// next, so that a generator for several need not ask which one it is for: Zmm
/// are encoded for AVX-512, Ymm and Xmm for AVX2.
class jit_simd_t : public jit_generator_t {
protected:
    using Address = Xbyak::Address;
    using Label = Xbyak::Label;
    using Opmask = Xbyak::Opmask;
    using Operand = Xbyak::Operand;
    using Reg64 = Xbyak::Reg64;
    using RegExp = Xbyak::RegExp;
    using Tmm = Xbyak::Tmm;
    using Xmm = Xbyak::Xmm;
    using Ymm = Xbyak::Ymm;
    using Zmm = Xbyak::Zmm;
    using Vmm = Xmm; // of any width

    explicit jit_simd_t(const char *name)
        : jit_generator_t(name) {}

    /// Returns the address of a member of the function's argument.
    Address arg(size_t offset) { return qword[rdi + offset]; }
    /// Returns bytes as a displacement, or to be added to a pointer.
    static uint32_t disp(dim_t bytes) { return static_cast<uint32_t>(bytes); }

    /// Repeats the body until the count, which is not 0 at first, is 0.
    template <typename body_t>
    void repeat(const Operand &count, body_t &&body) {
        Label l_begin;
        L(l_begin);
        body();
        dec(count);
        jnz(l_begin, T_NEAR);
    }

    /// All bits 0.
    void clear(const Vmm &x) { bit_xor(x, x, x); }
    /// Loads integers, from a register or an address of any alignment.
    void load(const Vmm &to, const Operand &from) {
        if (to.isZMM()) vmovdqu32(to, from);
        else vmovdqu(to, from);
    }
    void copy(const Vmm &to, const Vmm &from) {
        if (to.isZMM()) vmovdqa32(to, from);
        else vmovdqa(to, from);
    }
    void bit_and(const Vmm &to, const Vmm &x, const Operand &y) {
        if (to.isZMM()) vpandd(to, x, y);
        else vpand(to, x, y);
    }
    void bit_or(const Vmm &to, const Vmm &x, const Operand &y) {
        if (to.isZMM()) vpord(to, x, y);
        else vpor(to, x, y);
    }
    void bit_xor(const Vmm &to, const Vmm &x, const Operand &y) {
        if (to.isZMM()) vpxord(to, x, y);
        else vpxor(to, x, y);
    }
    /// Multiplies each lane by the 32 bits at `one`, modulo 2^32. `to` is not
    /// `x`.
    void multiply_low(const Vmm &to, const Vmm &x, const RegExp &one) {
        if (to.isZMM()) {
            vpmulld(to, x, ptr_b[one]);
            return;
        }
        vpbroadcastd(to, ptr[one]);
        vpmulld(to, to, x);
    }
    /// Adds four products of bytes a lane to sums, modulo 2^32, by VNNI. 256
    /// bits have the encoding of AVX-VNNI.
    void dot4(const Vmm &sums, const Vmm &u8, const Operand &s8) {
        vpdpbusd(sums, u8, s8,
                sums.isZMM() ? Xbyak::EvexEncoding : Xbyak::VexEncoding);
    }

    /// Adds up sixteen f32 into lane 0, the upper half to the lower one until
    /// one is left. AVX-512 only.
    void add_lanes(const Zmm &sums, const Zmm &scratch) {
        const int n = sums.getIdx();
        const Ymm half(n), other(scratch.getIdx());
        const Xmm quarter(n), x(scratch.getIdx());
        vextractf64x4(other, sums, 1);
        vaddps(half, half, other);
        vextractf32x4(x, half, 1);
        vaddps(quarter, quarter, x);
        constexpr uint8_t by_pairs = 0x4e, by_one = 0xb1;
        for (const uint8_t swapped : {by_pairs, by_one}) {
            vpermilps(x, quarter, swapped);
            vaddps(quarter, quarter, x);
        }
    }

    /// The uses of the general registers.
    general_registers_t general_;
};

} // namespace dnnl_dequant

#endif
