#if defined(__x86_64__)

#include "kernels/jit/io.hpp"

#include <algorithm>

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr uint8_t masked_bits_of = 0x6a; // (value & mask) ^ magic

} // namespace

template <isa_t isa>
uint32_t jit_io_t<isa>::singles() const {
    return std::max(elements_per_byte(), static_cast<uint32_t>(fields_));
}

// Lane i of a step: its own 2 or 4 bits at the bottom, more above.
template <isa_t isa>
void jit_io_t<isa>::spread_bits(
        const vmm_t &raw, const RegExp &src, bool tail) {
    const Xmm x(raw.getIdx());
    const bool pairs_of_bits = src_.container_bits * fields_ == 2;
    if (is_avx512 && tail)
        h_.vmovdqu8(x | k_src_tail_ | util::T_z, h_.ptr[src]);
    if (!is_avx512 && pairs_of_bits) {
        h_.vpbroadcastw(raw, h_.ptr[src]);
    } else if (!is_avx512) {
        h_.vpbroadcastd(raw, h_.ptr[src]);
    } else if (pairs_of_bits) {
        if (tail) h_.vpbroadcastd(raw, x);
        else h_.vpbroadcastd(raw, h_.ptr[src]);
    } else if (tail) {
        h_.vpshufd(x, x, 0x50);    // dwords 0 0 1 1
        h_.vpermq(raw, raw, 0x50); // within 256 bits: 0 0 0 0 1 1 1 1
        h_.vshufi64x2(Zmm(raw.getIdx()), Zmm(raw.getIdx()), Zmm(raw.getIdx()),
                0x50); // 128-bit lanes 0 0 1 1
    } else {
        h_.vpbroadcastd(raw, h_.ptr[src]);
        h_.vpbroadcastd(raw | k_upper_, h_.ptr[src + 4]);
    }
    if (dst_ == data_type_t::bf16) h_.vpsrlvd(raw, raw, shifts());
    else h_.vpsrlvd(raw, raw, vmm_shifts_);
}

template <isa_t isa>
void jit_io_t<isa>::spread_nibbles_in_place(
        const vmm_t &raw, const RegExp &src, bool tail) {
    const Xmm x(raw.getIdx());
    if (tail) h_.vmovdqu8(x | k_src_tail_ | util::T_z, h_.ptr[src]);
    if (tail) h_.vpbroadcastq(raw, x);
    else h_.vpbroadcastq(raw, h_.ptr[src]);
    h_.vpshufb(raw, raw, vmm_shifts_);
}

// As that of f16.
template <isa_t isa>
void jit_io_t<isa>::load_f8(const vmm_t &raw, const RegExp &src, bool tail) {
    const Xmm bytes(raw.getIdx());
    if (tail) h_.vmovdqu8(bytes | k_src_tail_ | util::T_z, h_.ptr[src]);
    if (tail) small_float_.convert_bytes(raw, bytes);
    else small_float_.convert_bytes(raw, h_.ptr[src]);
}

// The conversion is of a half vector, and done at once.
template <isa_t isa>
void jit_io_t<isa>::load_f16(const vmm_t &raw, const RegExp &src, bool tail) {
    if (is_avx512 && tail) {
        const Ymm words(raw.getIdx());
        h_.vmovdqu16(words | k_src_tail_ | util::T_z, h_.ptr[src]);
        h_.vcvtph2ps(raw, words);
    } else {
        h_.vcvtph2ps(raw, h_.ptr[src]);
    }
}

template <isa_t isa>
void jit_io_t<isa>::load_raw(const vmm_t &raw, const RegExp &src, bool tail) {
    if (src_.type == data_type_t::f16) return load_f16(raw, src, tail);
    if (is_by_halves()) return load_f8(raw, src, tail);
    // Two elements a lane, or one.
    const int lane_bits = src_.container_bits * fields_;
    if (in_place_) return spread_nibbles_in_place(raw, src, tail);
    if (lane_bits < 8) return spread_bits(raw, src, tail);

    const bool masked = is_avx512 && tail;
    if (lane_bits == 8) {
        const Xmm bytes(raw.getIdx());
        if (masked) h_.vmovdqu8(bytes | k_src_tail_ | util::T_z, h_.ptr[src]);
        if (masked) h_.vpmovzxbd(raw, bytes);
        else h_.vpmovzxbd(raw, h_.ptr[src]);
    } else if (lane_bits == 16) {
        const Ymm words(raw.getIdx());
        if (masked && fields_ == 2)
            h_.vmovdqu8(words | k_src_tail_ | util::T_z, h_.ptr[src]);
        else if (masked)
            h_.vmovdqu16(words | k_src_tail_ | util::T_z, h_.ptr[src]);
        if (masked) h_.vpmovzxwd(raw, words);
        else h_.vpmovzxwd(raw, h_.ptr[src]);
    } else if (!masked) {
        h_.vmovups(raw, h_.ptr[src]);
    } else if (fields_ == 2) {
        h_.vmovdqu16(raw | k_src_tail_ | util::T_z, h_.ptr[src]);
    } else {
        h_.vmovups(raw | k_src_tail_ | util::T_z, h_.ptr[src]);
    }
}

template <isa_t isa>
void jit_io_t<isa>::load_raw_single(
        const vmm_t &raw, const RegExp &src, uint32_t e, const Reg32 &reg) {
    const Xmm x(raw.getIdx());
    const RegExp from = src + src_bytes(e);
    switch (src_.container_bits) {
    case 32: h_.vmovd(x, h_.dword[from]); return;
    case 16: h_.movzx(reg, h_.word[from]); break;
    default: h_.movzx(reg, h_.byte[from]); break;
    }
    if (src_.container_bits < 8 && e != 0)
        h_.shr(reg, static_cast<int>(e) * src_.container_bits);
    h_.vmovd(x, reg);
    if (src_.type == data_type_t::f16) h_.vcvtph2ps(x, x);
}

template <isa_t isa>
void jit_io_t<isa>::extract(const vmm_t &value, const vmm_t &raw, int field,
        const vmm_t &tmp_a, const vmm_t &tmp_b) {
    if (is_by_halves()) return; // by load_raw()
    if (is_small_float())
        small_float_.convert(value, raw, position(field), tmp_a, tmp_b);
    else if (src_.type == data_type_t::bf16) extract_bf16(value, raw, field);
    else if (!src_.is_floating()) extract_integer(value, raw, field);
}

template <isa_t isa>
void jit_io_t<isa>::extract_bf16(
        const vmm_t &value, const vmm_t &raw, int field) {
    if (field == 0) {
        h_.vpslld(value, raw, 16);
    } else {
        h_.vpsrld(value, raw, 16);
        h_.vpslld(value, value, 16);
    }
}

template <isa_t isa>
void jit_io_t<isa>::extract_integer(
        const vmm_t &value, const vmm_t &raw, int field) {
    const bool shifted = is_shifted(field);
    const vmm_t &from = shifted ? value : raw;
    if (shifted)
        h_.vpsrld(value, raw, static_cast<uint8_t>(src_.container_bits));
    if (is_avx512) {
        if (value.getIdx() != from.getIdx()) h_.vmovdqa32(value, from);
        h_.vpternlogd(
                value, vmm_mask_[field], vmm_magic_[field], masked_bits_of);
    } else {
        h_.vpand(value, from, vmm_mask_[field]);
        h_.vpxor(value, value, vmm_magic_[field]);
    }
}

// x is 1024 * high + low; with AVX-512 high is converted where it stands, and
// low by its bits, as what is shorter is. The differences of either part are
// exact, that of high being a multiple of 1024 of 23 bits; only their sum
// rounds.
template <isa_t isa>
void jit_io_t<isa>::subtract_wide(const vmm_t &raw, const vmm_t &zps,
        const vmm_t &zps_high, const vmm_t &tmp) {
    if (is_avx512) {
        h_.vpandd(tmp, raw, vmm_mask_[1]);
        h_.vpternlogd(raw, vmm_mask_[0], vmm_magic_[0], masked_bits_of);
        if (src_.is_signed()) h_.vcvtdq2ps(tmp, tmp);
        else h_.vcvtudq2ps(tmp, tmp);
        h_.vsubps(tmp, tmp, zps_high);
        h_.vsubps(raw, raw, zps);
        h_.vaddps(raw, raw, tmp);
        return;
    }
    constexpr uint8_t low_bits = 10;
    if (src_.is_signed()) h_.vpsrad(tmp, raw, low_bits);
    else h_.vpsrld(tmp, raw, low_bits);
    h_.vpand(raw, raw, vmm_mask_[0]);
    h_.vcvtdq2ps(tmp, tmp);
    h_.vcvtdq2ps(raw, raw);
    h_.vfmsub132ps(tmp, zps_high, vmm_magic_[0]);
    h_.vsubps(raw, raw, zps);
    h_.vaddps(raw, raw, tmp);
}

template <isa_t isa>
void jit_io_t<isa>::convert_wide(const vmm_t &raw) {
    if (src_.is_signed()) h_.vcvtdq2ps(raw, raw);
    else h_.vcvtudq2ps(raw, raw);
}

template <isa_t isa>
void jit_io_t<isa>::prefetch(const RegExp &dst, const RegExp &src,
        uint32_t elements, cache_t dst_cache) {
    constexpr uint32_t line = 64;
    for (uint32_t at = 0; at < dst_bytes(elements); at += line)
        if (dst_cache == cache_t::l1) h_.prefetchw(h_.ptr[dst + at]);
        else h_.prefetcht1(h_.ptr[dst + at]);
    for (uint32_t at = 0; at < src_bytes(elements); at += line)
        h_.prefetcht0(h_.ptr[src + at]);
}

template class jit_io_t<isa_avx512_core>;
template class jit_io_t<isa_avx2>;

} // namespace dnnl_dequant

#endif
