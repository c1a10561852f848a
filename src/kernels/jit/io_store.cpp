#include "kernels/jit/io.hpp"

#include <type_traits>

namespace dnnl_dequant {

using namespace Xbyak;

// Nearest even by integer arithmetic, for the upper half of each lane: a NaN
// must have a clear payload, or the carry would run into its sign. The
// hardware's conversion would turn subnormals to zero.
template <isa_t isa>
void jit_io_t<isa>::round_to_bf16(const vmm_t &value, const vmm_t &tmp) {
    if (is_avx512 && dot_products_) {
        // The upper half of tmp is -(0x7fff + the lowest bit that stays). It is
        // multiplied by -1 and added; the lower half is multiplied by 0.
        constexpr uint8_t not_a_and_b_or_c = 0xae;
        h_.vmovdqa32(tmp, value);
        h_.vpternlogd(tmp, vmm_odd_bit_, vmm_one_, not_a_and_b_or_c);
        h_.vpdpwssd(value, tmp, vmm_half_);
    } else if (is_avx512) {
        h_.vptestmd(k_round_up_, value, vmm_odd_bit_);
        h_.vpaddd(value, value, vmm_half_);
        h_.vpaddd(value | k_round_up_, value, vmm_one_);
    } else {
        // Half up; what is left below is 0 where it was in the middle, and
        // then the lowest bit that stays is cleared.
        h_.vpaddd(value, value, vmm_half_);
        h_.vpaddusw(tmp, value, vmm_to_even_);
        h_.vpslld(tmp, tmp, 16);
        h_.vpand(value, value, tmp);
    }
}

// A NaN of src survives arithmetic with its payload, whose low bits rounding
// would carry into the sign. Only f32 and f16 have room for such a payload;
// NaNs of scales and zero points have none.
template <isa_t isa>
void jit_io_t<isa>::clear_payload(const vmm_t &value, const vmm_t &tmp) {
    constexpr uint32_t quiet_nan = 0x7fc00000u;
    if (src_.type != data_type_t::f32 && src_.type != data_type_t::f16) return;
    if (is_avx512) {
        // A NaN, quiet or not, gives a NaN without payload; the rest itself.
        constexpr uint32_t nans_to_default = 0x33;
        h_.vfixupimmps(value, value, h_.constant(nans_to_default), 0);
    } else {
        constexpr uint8_t unordered = 3;
        h_.vcmpps(tmp, value, value, unordered);
        h_.vblendvps(value, value, h_.constant(quiet_nan), tmp);
    }
}

template <isa_t isa>
void jit_io_t<isa>::round_to_bf16_pairs(
        const vmm_t &pairs, const vmm_t &values, const vmm_t &tmp) {
    round_to_bf16(values, tmp);
    h_.vpsrld(pairs, values, 16);
    h_.vmovdqu16(pairs | k_odd_, values);
}

template <isa_t isa>
void jit_io_t<isa>::join_bf16(
        const vmm_t &first, const vmm_t &second, const vmm_t &tmp) {
    if (is_avx512) {
        round_to_bf16(first, tmp);
        h_.vpsrld(first, first, 16);
        round_to_bf16(second, tmp);
        h_.vpblendmw(first | k_odd_, first, second);
        return;
    }
    // Rounds like round_to_bf16(), the upper halves of both at once and then
    // the lower ones.
    constexpr uint8_t odd_words = 0xaa;
    h_.vpaddd(first, first, vmm_half_);
    h_.vpaddd(second, second, vmm_half_);
    h_.vpslld(tmp, second, 16);
    h_.vpblendw(tmp, first, tmp, odd_words);
    h_.vpsrld(first, first, 16);
    h_.vpblendw(first, first, second, odd_words);
    h_.vpaddusw(tmp, tmp, vmm_to_even_);
    h_.vpand(first, first, tmp);
}

template <isa_t isa>
void jit_io_t<isa>::store_full(const RegExp &dst, const Xmm &v) {
    if (streaming_) h_.vmovntps(h_.ptr[dst], v);
    else h_.vmovups(h_.ptr[dst], v);
}

template <isa_t isa>
void jit_io_t<isa>::store_f32(
        const RegExp &dst, const vmm_t &v, extent_t extent) {
    switch (extent) {
    case extent_t::full: store_full(dst, v); break;
    case extent_t::tail: h_.vmovups(h_.ptr[dst] | k_dst_tail_, v); break;
    case extent_t::single: h_.vmovss(h_.ptr[dst], Xmm(v.getIdx())); break;
    }
}

template <isa_t isa>
void jit_io_t<isa>::store_f16(
        const RegExp &dst, const vmm_t &v, extent_t extent) {
    const Xmm x(v.getIdx());
    const std::conditional_t<is_avx512, Ymm, Xmm> half(v.getIdx());
    switch (extent) {
    case extent_t::full:
        if (streaming_ || in_registers_) {
            h_.vcvtps2ph(half, v, 0);
            store_full(dst, half);
        } else {
            h_.vcvtps2ph(h_.ptr[dst], v, 0);
        }
        break;
    case extent_t::tail: h_.vcvtps2ph(h_.ptr[dst] | k_dst_tail_, v, 0); break;
    case extent_t::single:
        h_.vcvtps2ph(x, x, 0);
        h_.vpextrw(h_.ptr[dst], x, 0);
        break;
    }
}

template <isa_t isa>
void jit_io_t<isa>::store_bf16(
        const RegExp &dst, const vmm_t &v, extent_t extent) {
    if (extent == extent_t::full) store_full(dst, v);
    else h_.vmovdqu16(h_.ptr[dst] | k_dst_tail_, v);
}

// One result a lane, in its upper half.
template <isa_t isa>
void jit_io_t<isa>::store_bf16_lanes(
        const RegExp &dst, const vmm_t &v, extent_t extent) {
    const Xmm x(v.getIdx());
    if (extent == extent_t::single) {
        h_.vpextrw(h_.ptr[dst], x, 1);
    } else if (!is_avx512) {
        h_.vpsrld(v, v, 16);
        h_.vpackusdw(v, v, v);
        h_.vpermq(Ymm(v.getIdx()), Ymm(v.getIdx()), 0x08);
        store_full(dst, x);
    } else {
        // This takes as many micro-operations as vpmovdw, and no shift before
        // it.
        h_.vpermw(v, vmm_upper_words_, v);
        const Ymm words(v.getIdx());
        if (extent == extent_t::full) store_full(dst, words);
        else h_.vmovdqu16(h_.ptr[dst] | k_dst_tail_, words);
    }
}

template <isa_t isa>
void jit_io_t<isa>::store_halves(const RegExp &dst, const vmm_t &first,
        const vmm_t &second, const vmm_t &tmp, bool tail) {
    const Ymm low(first.getIdx()), high(second.getIdx());
    if (dst_ == data_type_t::f16) {
        if (!tail && !streaming_) {
            h_.vcvtps2ph(h_.ptr[dst], first, 0);
            h_.vcvtps2ph(h_.ptr[dst + dst_bytes(simd_w)], second, 0);
            return;
        }
        h_.vcvtps2ph(low, first, 0);
        h_.vcvtps2ph(high, second, 0);
        h_.vinserti64x4(Zmm(first.getIdx()), Zmm(first.getIdx()), high, 1);
    } else if (bf16_conversion_) {
        h_.vcvtne2ps2bf16(first, second, first);
    } else {
        clear_payload(first, tmp);
        clear_payload(second, tmp);
        round_to_bf16(first, tmp);
        round_to_bf16(second, tmp);
        h_.vmovups(tmp, upper_words_of_halves());
        h_.vpermt2w(first, tmp, second);
    }
    if (tail) h_.vmovdqu16(h_.ptr[dst] | k_dst_tail_, first);
    else store_full(dst, first);
}

template <isa_t isa>
void jit_io_t<isa>::store(const RegExp &dst, const vmm_t &first,
        const vmm_t &second, const vmm_t &tmp, extent_t extent) {
    if constexpr (is_avx512)
        if (in_halves_)
            return store_halves(
                    dst, first, second, tmp, extent == extent_t::tail);
    switch (dst_) {
    case data_type_t::f32: return store_f32(dst, first, extent);
    case data_type_t::f16: return store_f16(dst, first, extent);
    default: break;
    }
    clear_payload(first, tmp);
    if (fields_ == 2 && extent != extent_t::single) {
        join_bf16(first, second, tmp);
        store_bf16(dst, first, extent);
    } else {
        round_to_bf16(first, tmp);
        store_bf16_lanes(dst, first, extent);
    }
}

template class jit_io_t<isa_avx512_core>;
template class jit_io_t<isa_avx2>;

} // namespace dnnl_dequant
