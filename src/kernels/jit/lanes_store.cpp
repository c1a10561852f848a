#include "kernels/jit/lanes.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

template <isa_t isa>
void jit_lanes_t<isa>::store_full(
        const RegExp &to, const Xmm &v, bool streaming) {
    if (streaming) h_.vmovntps(h_.ptr[to], v);
    else h_.vmovups(h_.ptr[to], v);
}

// The upper halves of the lanes.
template <isa_t isa>
void jit_lanes_t<isa>::store_words(
        const RegExp &to, const vmm_t &v, bool tail, bool streaming) {
    h_.vpsrld(v, v, 16);
    if constexpr (is_avx512) {
        const Ymm half(v.getIdx());
        if (tail) {
            h_.vpmovdw(h_.ptr[to] | k_tail_, v);
            return;
        }
        h_.vpmovdw(half, v);
        store_full(to, half, streaming);
    } else {
        h_.vpackusdw(v, v, v);
        h_.vpermq(v, v, 0x08);
        store_full(to, Xmm(v.getIdx()), streaming);
    }
}

template <isa_t isa>
void jit_lanes_t<isa>::store(const RegExp &to, data_type_t type, const vmm_t &v,
        float_rounding_t rounding, bool tail, bool streaming, const vmm_t &a) {
    const std::conditional_t<is_avx512, Ymm, Xmm> half(v.getIdx());
    switch (type) {
    case data_type_t::f32:
        if (tail) h_.vmovups(h_.ptr[to] | k_tail_, v);
        else store_full(to, v, streaming);
        return;
    case data_type_t::f16:
        if (tail) {
            h_.vcvtps2ph(h_.ptr[to] | k_tail_, v, 0);
        } else if (streaming) {
            h_.vcvtps2ph(half, v, 0);
            store_full(to, half, true);
        } else {
            h_.vcvtps2ph(h_.ptr[to], v, 0);
        }
        return;
    case data_type_t::bf16:
        round_upper_half(v, rounding, a);
        store_words(to, v, tail, streaming);
        return;
    case data_type_t::s32:
    case data_type_t::u32:
        to_wide_integers(v, type, a);
        if (tail) h_.vmovups(h_.ptr[to] | k_tail_, v);
        else store_full(to, v, streaming);
        return;
    default:
        if (is_integer(type)) h_.vcvtps2dq(v, v);
        store_narrow(to, type, v, tail, streaming);
    }
}

// The conversion turns values beyond s32 into its least number. On the upper
// side the right one is the greatest, so those lanes are inverted.
template <isa_t isa>
void jit_lanes_t<isa>::to_wide_integers(
        const vmm_t &v, data_type_t type, const vmm_t &a) {
    constexpr uint32_t two_to_31 = 0x4f000000u;
    constexpr uint8_t not_less = 5;
    const auto with = [&](uint32_t lane, auto &&use) {
        constants_.with(lane, [&](const Operand &x) { use(x); });
    };
    if (type == data_type_t::u32)
        with(0u, [&](const Operand &zero) { h_.vmaxps(v, v, zero); });
    if constexpr (is_avx512) {
        if (type == data_type_t::u32) {
            h_.vcvtps2udq(v, v);
            return;
        }
        with(two_to_31,
                [&](const Operand &x) { h_.vcmpps(k_tmp_, v, x, not_less); });
        h_.vcvtps2dq(v, v);
        with(0x7fffffffu,
                [&](const Operand &most) { h_.vmovups(v | k_tmp_, most); });
    } else if (type == data_type_t::s32) {
        with(two_to_31,
                [&](const Operand &x) { h_.vcmpps(a, v, x, not_less); });
        h_.vcvtps2dq(v, v);
        h_.vpxor(v, v, a);
    } else {
        // Less 2^31 where there is so much, which the highest bit puts right.
        with(two_to_31, [&](const Operand &x) {
            h_.vcmpps(a, v, x, not_less);
            h_.vandps(a, a, x);
        });
        h_.vsubps(v, v, a);
        h_.vcvtps2dq(v, v);
        with(0x7fffffffu, [&](const Operand &most) { h_.vpminud(v, v, most); });
        h_.vpslld(a, a, 1);
        h_.vpsrld(a, a, 31);
        h_.vpslld(a, a, 31);
        h_.vpxor(v, v, a);
    }
}

// Integers that fit, to bytes or words.
template <isa_t isa>
void jit_lanes_t<isa>::store_narrow(const RegExp &to, data_type_t type,
        const vmm_t &v, bool tail, bool streaming) {
    const bool to_bytes = bits_of(type) <= 8;
    const Xmm x(v.getIdx());
    if constexpr (is_avx512) {
        const auto narrow = [&](const Operand &into) {
            if (to_bytes) h_.vpmovdb(into, v);
            else h_.vpmovdw(into, v);
        };
        if (tail) return narrow(h_.ptr[to] | k_tail_);
        const Ymm y(v.getIdx());
        narrow(to_bytes ? static_cast<const Operand &>(x) : y);
        store_full(to, to_bytes ? x : y, streaming);
        return;
    }
    if (type == data_type_t::u16) h_.vpackusdw(v, v, v);
    else h_.vpackssdw(v, v, v);
    h_.vpermq(Ymm(v.getIdx()), Ymm(v.getIdx()), 0x08);
    if (!to_bytes) return store_full(to, x, streaming);
    if (type == data_type_t::s8) h_.vpacksswb(x, x, x);
    else h_.vpackuswb(x, x, x);
    if (streaming) {
        h_.vmovq(h_.rax, x);
        h_.movnti(h_.ptr[to], h_.rax);
    } else {
        h_.vmovq(h_.ptr[to], x);
    }
}

// The upper words of `v`, then those of `w`.
template <isa_t isa>
void jit_lanes_t<isa>::store_pair_bf16(const RegExp &to, const vmm_t &v,
        const vmm_t &w, float_rounding_t rounding, bool streaming,
        const vmm_t &a) {
    round_upper_half(v, rounding, a);
    round_upper_half(w, rounding, a);
    if constexpr (is_avx512) {
        jit_generator_t::lanes_t upper_words;
        for (uint32_t i = 0; i < 16; ++i)
            upper_words[i] = (4 * i + 1) | (4 * i + 3) << 16;
        constants_.with(upper_words,
                [&](const Operand &order) { h_.vmovups(a, order); });
        h_.vpermi2w(a, v, w);
        store_full(to, a, streaming);
    } else {
        h_.vpsrld(v, v, 16);
        h_.vpsrld(w, w, 16);
        h_.vpackusdw(v, v, w);
        h_.vpermq(v, v, 0xd8);
        store_full(to, v, streaming);
    }
}

template class jit_lanes_t<isa_avx512_core>;
template class jit_lanes_t<isa_avx2>;

} // namespace dnnl_dequant
