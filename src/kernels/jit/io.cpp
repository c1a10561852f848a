#if defined(__x86_64__)

#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// Exponent bits of the float 2^power.
constexpr uint32_t power_of_two(int power) {
    return static_cast<uint32_t>(127 + power) << 23;
}

constexpr int significand_bits = 23;

} // namespace

int_format_t dense_format(data_type_t type) {
    switch (type) {
    case data_type_t::u4: return {4, 4, 0, false};
    case data_type_t::s4: return {4, 4, 0, true};
    case data_type_t::u8: return {8, 8, 0, false};
    case data_type_t::s8: return {8, 8, 0, true};
    default: return {0, 0, 0, false};
    }
}

template <isa_t isa>
jit_io_t<isa>::jit_io_t(jit_generator_t &host, const int_format_t &src,
        data_type_t dst, int first_vmm)
    : h_(host)
    , src_(src)
    , dst_(dst)
    , fields_(dst == data_type_t::bf16 ? 2 : 1)
    , vmm_mask_ {vmm_t(first_vmm), vmm_t(first_vmm + 1)}
    , vmm_magic_ {vmm_t(first_vmm + 2), vmm_t(first_vmm + 3)}
    , vmm_shifts_(first_vmm + 4)
    , vmm_one_(first_vmm + 4)
    , vmm_half_(first_vmm + 5)
    , vmm_odd_bit_(first_vmm + 6) {}

template <isa_t isa>
int jit_io_t<isa>::position(int field) const {
    return field * src_.container_bits + src_.shift;
}

template <isa_t isa>
uint32_t jit_io_t<isa>::field_mask(int field) const {
    return ((1u << src_.bits) - 1u) << position(field);
}

// 2^k such that the field's lowest bit has the weight 1. Flipping the sign bit
// adds half the range.
template <isa_t isa>
uint32_t jit_io_t<isa>::field_magic(int field) const {
    const uint32_t sign
            = src_.is_signed ? 1u << (position(field) + src_.bits - 1) : 0u;
    return power_of_two(significand_bits - position(field)) ^ sign;
}

template <isa_t isa>
float jit_io_t<isa>::field_bias(int field) const {
    const int power = significand_bits - position(field);
    const int half_range = src_.is_signed ? 1 << (src_.bits - 1) : 0;
    return static_cast<float>((1 << power) + half_range);
}

template <isa_t isa>
void jit_io_t<isa>::load_constants() {
    for (int f = 0; f < fields_; ++f) {
        h_.vmovups(vmm_mask_[f], h_.constant(field_mask(f)));
        h_.vmovups(vmm_magic_[f], h_.constant(field_magic(f)));
    }
    if (fields_ == 2) {
        h_.vmovups(vmm_one_, h_.constant(1u));
        h_.vmovups(vmm_half_, h_.constant(0x7fffu));
        if (is_avx512) {
            h_.vmovups(vmm_odd_bit_, h_.constant(0x10000u));
            h_.mov(h_.eax, 0xaaaaaaaau);
            h_.kmovd(k_odd_, h_.eax);
        }
    } else if (src_.container_bits == 4) {
        h_.vmovups(vmm_shifts_, h_.constant({0, 4, 8, 12, 16, 20, 24, 28, 0, 4,
                                        8, 12, 16, 20, 24, 28}));
    }
    if (is_avx512 && fields_ == 1 && src_.container_bits == 4) {
        h_.mov(h_.eax, 0xff00);
        h_.kmovd(k_upper_, h_.eax);
    }
}

template <isa_t isa>
void jit_io_t<isa>::load_tail_masks(
        const Reg64 &reg_count, const Reg64 &reg_tmp) {
    const auto set_mask = [&](const Opmask &k) {
        h_.mov(reg_tmp, 1);
        h_.shl(reg_tmp, h_.cl);
        h_.dec(reg_tmp);
        h_.kmovq(k, reg_tmp);
    };
    h_.mov(h_.rcx, reg_count);
    set_mask(k_dst_tail_);
    if (src_.container_bits == 4) {
        h_.inc(h_.rcx);
        h_.shr(h_.rcx, 1);
    }
    set_mask(k_src_tail_);
}

// Lane i of a step of one field: nibble i in its low bits, more above.
template <isa_t isa>
void jit_io_t<isa>::spread_nibbles(
        const vmm_t &raw, const RegExp &src, bool tail) {
    const Xmm x(raw.getIdx());
    if (!is_avx512) {
        h_.vpbroadcastd(raw, h_.ptr[src]);
    } else if (tail) {
        h_.vmovdqu8(x | k_src_tail_ | util::T_z, h_.ptr[src]);
        h_.vpshufd(x, x, 0x50);    // dwords 0 0 1 1
        h_.vpermq(raw, raw, 0x50); // within 256 bits: 0 0 0 0 1 1 1 1
        h_.vshufi64x2(Zmm(raw.getIdx()), Zmm(raw.getIdx()), Zmm(raw.getIdx()),
                0x50); // 128-bit lanes 0 0 1 1
    } else {
        h_.vpbroadcastd(raw, h_.ptr[src]);
        h_.vpbroadcastd(raw | k_upper_, h_.ptr[src + 4]);
    }
    h_.vpsrlvd(raw, raw, vmm_shifts_);
}

template <isa_t isa>
void jit_io_t<isa>::load_raw(const vmm_t &raw, const RegExp &src, bool tail) {
    // Two elements a lane, or one.
    const int lane_bits = src_.container_bits * fields_;
    if (lane_bits == 4) return spread_nibbles(raw, src, tail);

    const bool masked = is_avx512 && tail;
    if (lane_bits == 8) {
        const Xmm bytes(raw.getIdx());
        if (masked) h_.vmovdqu8(bytes | k_src_tail_ | util::T_z, h_.ptr[src]);
        if (masked) h_.vpmovzxbd(raw, bytes);
        else h_.vpmovzxbd(raw, h_.ptr[src]);
    } else {
        const Ymm words(raw.getIdx());
        if (masked) h_.vmovdqu8(words | k_src_tail_ | util::T_z, h_.ptr[src]);
        if (masked) h_.vpmovzxwd(raw, words);
        else h_.vpmovzxwd(raw, h_.ptr[src]);
    }
}

template <isa_t isa>
void jit_io_t<isa>::load_raw_single(const vmm_t &raw, const Reg32 &reg) {
    h_.vmovd(Xmm(raw.getIdx()), reg);
}

template <isa_t isa>
void jit_io_t<isa>::extract(const vmm_t &value, const vmm_t &raw, int field) {
    if (is_avx512) {
        if (value.getIdx() != raw.getIdx()) h_.vmovdqa32(value, raw);
        // (value & mask) ^ magic
        h_.vpternlogd(value, vmm_mask_[field], vmm_magic_[field], 0x6a);
    } else {
        h_.vpand(value, raw, vmm_mask_[field]);
        h_.vpxor(value, value, vmm_magic_[field]);
    }
}

// Nearest even by integer arithmetic, for the upper half of each lane: a NaN
// must have a clear payload, or the carry would run into its sign. The
// hardware's conversion would turn subnormals to zero.
template <isa_t isa>
void jit_io_t<isa>::round_to_bf16(const vmm_t &value, const vmm_t &tmp) {
    if (is_avx512) {
        h_.vptestmd(k_round_up_, value, vmm_odd_bit_);
        h_.vpaddd(value, value, vmm_half_);
        h_.vpaddd(value | k_round_up_, value, vmm_one_);
    } else {
        h_.vpsrld(tmp, value, 16);
        h_.vpand(tmp, tmp, vmm_one_);
        h_.vpaddd(value, value, vmm_half_);
        h_.vpaddd(value, value, tmp);
    }
}

template <isa_t isa>
void jit_io_t<isa>::round_to_words(
        const Ymm &words, const vmm_t &values, const vmm_t &tmp) {
    if (dst_ == data_type_t::f16) {
        h_.vcvtps2ph(words, values, 0);
    } else {
        round_to_bf16(values, tmp);
        h_.vpsrld(values, values, 16);
        h_.vpmovdw(words, Zmm(values.getIdx()));
    }
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
        if (streaming_) {
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
    switch (extent) {
    case extent_t::full: store_full(dst, v); break;
    case extent_t::tail: h_.vmovdqu16(h_.ptr[dst] | k_dst_tail_, v); break;
    case extent_t::single: h_.vpextrw(h_.ptr[dst], Xmm(v.getIdx()), 0); break;
    }
}

template <isa_t isa>
void jit_io_t<isa>::store(const RegExp &dst, const vmm_t &first,
        const vmm_t &second, const vmm_t &tmp, extent_t extent) {
    switch (dst_) {
    case data_type_t::f32: return store_f32(dst, first, extent);
    case data_type_t::f16: return store_f16(dst, first, extent);
    default: break;
    }
    round_to_bf16(first, tmp);
    h_.vpsrld(first, first, 16);
    if (extent != extent_t::single) {
        round_to_bf16(second, tmp);
        if (is_avx512) {
            h_.vpblendmw(first | k_odd_, first, second);
        } else {
            h_.vpblendw(first, first, second, 0xaa);
        }
    }
    store_bf16(dst, first, extent);
}

template class jit_io_t<isa_avx512_core>;
template class jit_io_t<isa_avx2>;

} // namespace dnnl_dequant

#endif
