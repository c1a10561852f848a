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
    const bool pairs_of_bits = lane_bits() == 2;
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
    spread_bytes_of_nibbles(raw);
}

// Rounding bf16 by integers takes the register of vmm_shifts_.
template <isa_t isa>
void jit_io_t<isa>::spread_bytes_of_nibbles(const vmm_t &raw) {
    if (dst_ == data_type_t::bf16 && !bf16_conversion_)
        h_.vpshufb(raw, raw, bytes_of_nibbles());
    else h_.vpshufb(raw, raw, vmm_shifts_);
}

// Converts half a vector at once, like the load of f16.
template <isa_t isa>
void jit_io_t<isa>::load_f8(const vmm_t &raw, const RegExp &src, bool tail) {
    const Xmm bytes(raw.getIdx());
    if (tail) h_.vmovdqu8(bytes | k_src_tail_ | util::T_z, h_.ptr[src]);
    if (tail) small_float_.convert_bytes(raw, bytes);
    else small_float_.convert_bytes(raw, h_.ptr[src]);
}

// Converts half a vector at once.
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
    if (in_place_) return spread_nibbles_in_place(raw, src, tail);
    if (lane_bits() < 8) return spread_bits(raw, src, tail);
    if (unpacks()) {
        if (lane_bits() == 8) h_.vpbroadcastq(raw, h_.ptr[src]);
        else h_.vbroadcasti128(Ymm(raw.getIdx()), h_.ptr[src]);
        h_.vpshufb(raw, raw, vmm_word_order_);
        return;
    }

    const bool masked = is_avx512 && tail;
    if (lane_bits() == 8) {
        const Xmm bytes(raw.getIdx());
        if (masked) h_.vmovdqu8(bytes | k_src_tail_ | util::T_z, h_.ptr[src]);
        if (masked) h_.vpmovzxbd(raw, bytes);
        else h_.vpmovzxbd(raw, h_.ptr[src]);
    } else if (lane_bits() == 16) {
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
void jit_io_t<isa>::load_halves(
        const vmm_t &first, const vmm_t &second, const RegExp &src, bool tail) {
    const Xmm low(second.getIdx());
    const Ymm words(second.getIdx());
    const RegExp next = src + src_bytes(simd_w);
    if (src_.container_bits == 4) {
        if (tail) {
            h_.vmovdqu8(low | k_src_tail_ | util::T_z, h_.ptr[src]);
            h_.vpbroadcastq(first, low);
            h_.vpsrldq(low, low, 8);
            h_.vpbroadcastq(second, low);
        } else {
            h_.vpbroadcastq(first, h_.ptr[src]);
            h_.vpbroadcastq(second, h_.ptr[next]);
        }
        spread_bytes_of_nibbles(first);
        spread_bytes_of_nibbles(second);
    } else if (src_.container_bits == 8) {
        if (tail) {
            h_.vmovdqu8(words | k_src_tail_ | util::T_z, h_.ptr[src]);
            h_.vpmovzxbd(first, low);
            h_.vextracti128(low, words, 1);
            h_.vpmovzxbd(second, low);
        } else {
            h_.vpmovzxbd(first, h_.ptr[src]);
            h_.vpmovzxbd(second, h_.ptr[next]);
        }
    } else {
        load_words(first, second, src, tail);
    }
}

template <isa_t isa>
void jit_io_t<isa>::load_words(
        const vmm_t &first, const vmm_t &second, const RegExp &src, bool tail) {
    const auto widen = [this](const vmm_t &to, const Operand &words) {
        if (src_.type == data_type_t::f16) h_.vcvtph2ps(to, words);
        else h_.vpmovzxwd(to, words);
    };
    if (!tail) {
        widen(first, h_.ptr[src]);
        widen(second, h_.ptr[src + src_bytes(simd_w)]);
        return;
    }
    const Ymm words(second.getIdx());
    h_.vmovdqu16(second | k_src_tail_ | util::T_z, h_.ptr[src]);
    widen(first, words);
    h_.vextracti64x4(words, Zmm(second.getIdx()), 1);
    widen(second, words);
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
    else if (unpacks()) unpack_pairs(value, raw, field);
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
        const bool masked = is_masked(field);
        if (masked) h_.vpand(value, from, vmm_mask_[field]);
        h_.vpxor(value, masked ? value : from, vmm_magic_[field]);
    }
}

// Whether there may be something else next to the number: not in words of
// bytes, nor above a container that was shifted down.
template <isa_t isa>
bool jit_io_t<isa>::is_masked(int field) const {
    return src_.container_bits < 8 || src_.bits < src_.container_bits
           || !(unpacks() || is_shifted(field));
}

// For the words of each field, as order_of_words() has them.
template <isa_t isa>
typename jit_io_t<isa>::lanes_t jit_io_t<isa>::words_of(
        uint32_t (jit_io_t::*each)(int position) const) const {
    constexpr uint32_t both_words = 0x00010001u;
    lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = both_words
                   * (this->*each)(position(static_cast<int>(i % 4 / 2)));
    return lanes;
}

// For vpshufb of what stands in both 128-bit lanes: a word for each number of
// the lane, those of field 0 before those of field 1. Nibbles come with
// their byte.
template <isa_t isa>
typename jit_io_t<isa>::lanes_t jit_io_t<isa>::order_of_words() const {
    constexpr uint32_t nothing_above = 0x80008000u;
    const auto byte_of = [&](uint32_t lane, uint32_t field) {
        return src_.container_bits == 4 ? lane : 2 * lane + field;
    };
    lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i) {
        const uint32_t field = i % 4 / 2, lane = i / 4 % 2 * 4 + i % 2 * 2;
        lanes[i] = nothing_above | byte_of(lane, field)
                   | byte_of(lane + 1, field) << 16;
    }
    return lanes;
}

template <isa_t isa>
uint32_t jit_io_t<isa>::magic_word_at(int position) const {
    const uint32_t power_of_two = magic_at(position) ^ sign_at(position);
    return power_of_two >> 16;
}

template <isa_t isa>
void jit_io_t<isa>::load_unpacking_constants() {
    h_.vmovups(vmm_word_order_, h_.constant(order_of_words()));
    h_.vmovups(vmm_word_masks_, h_.constant(words_of(&jit_io_t::mask_at)));
    h_.vmovups(
            vmm_word_magic_, h_.constant(words_of(&jit_io_t::magic_word_at)));
    h_.vmovups(vmm_word_signs_, h_.constant(words_of(&jit_io_t::sign_at)));
}

// Works on the words of both fields at once. Unpacking then puts the upper
// halves of 2^k above the numbers.
template <isa_t isa>
void jit_io_t<isa>::unpack_pairs(
        const vmm_t &value, const vmm_t &raw, int field) {
    if (field == 1) return h_.vpunpckhwd(value, raw, vmm_word_magic_);
    if (is_masked(0)) h_.vpand(raw, raw, vmm_word_masks_);
    if (src_.is_signed()) h_.vpxor(raw, raw, vmm_word_signs_);
    h_.vpunpcklwd(value, raw, vmm_word_magic_);
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
    prefetch_src(src, elements);
}

template <isa_t isa>
void jit_io_t<isa>::prefetch_src(const RegExp &src, uint32_t elements) {
    constexpr uint32_t line = 64;
    for (uint32_t at = 0; at < src_bytes(elements); at += line)
        h_.prefetcht0(h_.ptr[src + at]);
}

template class jit_io_t<isa_avx512_core>;
template class jit_io_t<isa_avx2>;

} // namespace dnnl_dequant
