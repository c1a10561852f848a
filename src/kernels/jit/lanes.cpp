#include "kernels/jit/lanes.hpp"

#include "base/bits.hpp"
#include "kernels/jit/nibble_numbers.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using lanes_t = jit_generator_t::lanes_t;

constexpr uint32_t sign_bit = 0x80000000u;
constexpr uint32_t low_part = 1023u; // ten bits
constexpr uint32_t f32_1024 = 137u << 23;

// How far the field of each lane is from the bottom of its dword.
lanes_t shifts(uint32_t bits) {
    lanes_t lanes;
    for (uint32_t i = 0; i < 16; ++i)
        lanes[i] = i * bits % 32;
    return lanes;
}

} // namespace

template <isa_t isa>
jit_lanes_t<isa>::jit_lanes_t(
        jit_generator_t &host, int first_vmm, data_type_t small)
    : h_(host)
    , small_float_(host, small, first_vmm)
    , has_small_(small != data_type_t::undef)
    , constants_(host,
              first_vmm
                      + (has_small_ ? jit_small_float_t<isa>::vmm_needed : 0)) {
}

template <isa_t isa>
bool jit_lanes_t<isa>::is_loadable(data_type_t type) {
    const int bits = bits_of(type);
    return bits >= 2 && bits <= 32 && type != data_type_t::e8m0;
}

template <isa_t isa>
void jit_lanes_t<isa>::load_constants() {
    constants_.load();
    if (has_small_) small_float_.load_constants();
    if (!uses_upper_) return;
    h_.mov(h_.eax, 0xff00);
    h_.kmovd(k_upper_, h_.eax);
}

template <isa_t isa>
void jit_lanes_t<isa>::load_tail_masks(
        const Reg64 &reg_count, const Reg64 &tmp, int least_bits) {
    const auto set_mask = [&](const Opmask &k) {
        h_.mov(tmp, 1);
        h_.shl(tmp, h_.cl);
        h_.dec(tmp);
        h_.kmovq(k, tmp);
    };
    h_.mov(h_.rcx, reg_count);
    set_mask(k_tail_);
    h_.inc(h_.rcx);
    h_.shr(h_.rcx, 1);
    set_mask(k_tail_bytes_);
    if (least_bits > 2) return;
    h_.inc(h_.rcx);
    h_.shr(h_.rcx, 1);
    set_mask(k_tail_quarters_);
}

template <isa_t isa>
typename jit_lanes_t<isa>::vmm_t jit_lanes_t<isa>::masked(
        const vmm_t &v, bool tail) const {
    if constexpr (is_avx512) {
        if (tail) return v | k_tail_ | util::T_z;
    }
    return v;
}

template <isa_t isa>
void jit_lanes_t<isa>::load(const vmm_t &v, const lane_format_t &format,
        const RegExp &from, bool tail, const vmm_t &a, const vmm_t &b) {
    const vmm_t to = masked(v, tail);
    const auto at = h_.ptr[from];
    if (bits_of(format.type) == 4)
        return load_nibbles(v, format, from, tail, a);
    if (bits_of(format.type) == 2) return load_quarters(v, format, from, tail);
    switch (format.type) {
    case data_type_t::f32: h_.vmovups(to, at); return;
    case data_type_t::bf16:
        h_.vpmovzxwd(to, at);
        h_.vpslld(v, v, 16);
        return;
    case data_type_t::f16: h_.vcvtph2ps(to, at); return;
    case data_type_t::s32: h_.vcvtdq2ps(to, at); return;
    case data_type_t::u32: return load_u32(v, format, from, tail, a);
    case data_type_t::u8: h_.vpmovzxbd(to, at); break;
    case data_type_t::s8: h_.vpmovsxbd(to, at); break;
    case data_type_t::u16: h_.vpmovzxwd(to, at); break;
    case data_type_t::s16: h_.vpmovsxwd(to, at); break;
    default: return load_f8(v, format, from, tail, a, b);
    }
    h_.vcvtdq2ps(v, v);
}

template <isa_t isa>
void jit_lanes_t<isa>::load_f8(const vmm_t &v, const lane_format_t &format,
        const RegExp &from, bool tail, const vmm_t &a, const vmm_t &b) {
    const auto at = h_.ptr[from];
    if (!small_float_.by_halves(format.type)) {
        h_.vpmovzxbd(masked(v, tail), at);
        small_float_.convert(v, v, 0, a, b);
    } else if (tail) {
        const Xmm bytes(a.getIdx());
        h_.vmovdqu8(bytes | k_tail_ | util::T_z, at);
        small_float_.convert_bytes(v, bytes);
    } else {
        small_float_.convert_bytes(v, at);
    }
}

// Lane i gets nibble i at its bottom, more above.
template <isa_t isa>
void jit_lanes_t<isa>::load_nibbles(const vmm_t &v, const lane_format_t &format,
        const RegExp &from, bool tail, const vmm_t &a) {
    const auto shift_down = [&] {
        constants_.with(
                shifts(4), [&](const Operand &by) { h_.vpsrlvd(v, v, by); });
    };
    if (format.container_bits == 8) {
        h_.vpmovzxbd(masked(v, tail), h_.ptr[from]);
    } else if (!is_avx512) {
        h_.vpbroadcastd(v, h_.ptr[from]);
        shift_down();
    } else if (tail) {
        // A byte a quadword, whose upper half gets the upper nibble.
        h_.vpmovzxbq(v | k_tail_bytes_ | util::T_z, h_.ptr[from]);
        h_.vpsllq(a, v, 28);
        h_.vpord(v, v, a);
    } else {
        uses_upper_ = true;
        h_.vpbroadcastd(v, h_.ptr[from]);
        h_.vpbroadcastd(v | k_upper_, h_.ptr[from + 4]);
        shift_down();
    }
    nibbles_to_f32(v, format.type, a);
}

// A dword has the 16 fields of a vector, a word those of half of it. Bits above
// a field do not matter, since the table repeats.
template <isa_t isa>
void jit_lanes_t<isa>::load_quarters(const vmm_t &v,
        const lane_format_t &format, const RegExp &from, bool tail) {
    const Xmm bytes(v.getIdx());
    if (tail) h_.vmovdqu8(bytes | k_tail_quarters_ | util::T_z, h_.ptr[from]);
    if (tail) h_.vpbroadcastd(v, bytes);
    else if (is_avx512) h_.vpbroadcastd(v, h_.ptr[from]);
    else h_.vpbroadcastw(v, h_.ptr[from]);
    constants_.with(
            shifts(2), [&](const Operand &by) { h_.vpsrlvd(v, v, by); });
    constants_.with(nibble_numbers(format.type),
            [&](const Operand &table) { h_.vpermps(v, v, table); });
}

template <isa_t isa>
void jit_lanes_t<isa>::nibbles_to_f32(
        const vmm_t &v, data_type_t type, const vmm_t &a) {
    const lanes_t numbers = nibble_numbers(type);
    if (is_avx512) {
        constants_.with(numbers,
                [&](const Operand &table) { h_.vpermps(v, v, table); });
    } else if (is_floating(type)) {
        // The sign aside there are eight.
        h_.vpslld(a, v, 28);
        constants_.with(
                sign_bit, [&](const Operand &mask) { h_.vpand(a, a, mask); });
        constants_.with(numbers, [&](const Operand &table) {
            h_.vpermps(Ymm(v.getIdx()), Ymm(v.getIdx()), table);
        });
        h_.vpor(v, v, a);
    } else if (type == data_type_t::s4) {
        h_.vpslld(v, v, 28);
        h_.vpsrad(v, v, 28);
        h_.vcvtdq2ps(v, v);
    } else {
        constants_.with(
                15u, [&](const Operand &mask) { h_.vpand(v, v, mask); });
        h_.vcvtdq2ps(v, v);
    }
}

template <isa_t isa>
void jit_lanes_t<isa>::load_u32(const vmm_t &v, const lane_format_t &format,
        const RegExp &from, bool tail, const vmm_t &a) {
    if (is_avx512) {
        h_.vcvtudq2ps(masked(v, tail), h_.ptr[from]);
        return;
    }
    load_parts(v, a, format, from, tail);
    h_.vaddps(v, v, a);
}

template <isa_t isa>
void jit_lanes_t<isa>::load_parts(const vmm_t &low, const vmm_t &high,
        const lane_format_t &format, const RegExp &from, bool tail) {
    h_.vmovups(masked(low, tail), h_.ptr[from]);
    if (format.type == data_type_t::s32) h_.vpsrad(high, low, 10);
    else h_.vpsrld(high, low, 10);
    constants_.with(low_part, [&](const Operand &mask) {
        if (is_avx512) h_.vpandd(low, low, mask);
        else h_.vpand(low, low, mask);
    });
    h_.vcvtdq2ps(low, low);
    h_.vcvtdq2ps(high, high);
    constants_.with(
            f32_1024, [&](const Operand &by) { h_.vmulps(high, high, by); });
}

template <isa_t isa>
void jit_lanes_t<isa>::clear_payload(const vmm_t &v, const vmm_t &a) {
    constexpr uint32_t quiet_nan = 0x7fc00000u;
    constexpr uint8_t unordered = 3;
    constants_.with(quiet_nan, [&](const Operand &nan) {
        if (is_avx512) {
            h_.vcmpps(k_tmp_, v, v, unordered);
            h_.vmovups(v | k_tmp_, nan);
        } else {
            h_.vcmpps(a, v, v, unordered);
            h_.vblendvps(v, v, nan, a);
        }
    });
}

// Nearest even, by integers: the upper half of each lane is the result, the
// lower one is garbage. (The hardware's conversion takes subnormals for zero.)
template <isa_t isa>
void jit_lanes_t<isa>::round_upper_half(
        const vmm_t &v, float_rounding_t rounding, const vmm_t &a) {
    if (rounding == float_rounding_t::none) return;
    if (rounding == float_rounding_t::with_nan) clear_payload(v, a);
    const auto add = [&](const vmm_t &to, uint32_t lane) {
        constants_.with(lane, [&](const Operand &x) { h_.vpaddd(to, v, x); });
    };
    if constexpr (is_avx512) {
        constants_.with(0x10000u,
                [&](const Operand &odd) { h_.vptestmd(k_tmp_, v, odd); });
        add(v, 0x7fffu);
        add(v | k_tmp_, 1u);
    } else {
        h_.vpsrld(a, v, 16);
        constants_.with(1u, [&](const Operand &one) { h_.vpand(a, a, one); });
        add(v, 0x7fffu);
        h_.vpaddd(v, v, a);
    }
}

// Nearest even by two products. The machine rounds n times 2^k - 1 to a number
// whose last place is k places above that of n. Subtracting it from n times
// 2^k, which is exact, leaves n rounded to that place. In a tie the last place
// of n is 0, so that the parity of the product is that of the result. A program
// checked all f32 of both ranges.
template <isa_t isa>
void jit_lanes_t<isa>::round_ordinary(
        const vmm_t &v, data_type_t type, const vmm_t &a) {
    const float power = factor_to_round(type);
    constants_.with(bits_of_f32(power - 1),
            [&](const Operand &by) { h_.vmulps(a, v, by); });
    constants_.with(bits_of_f32(power),
            [&](const Operand &by) { h_.vfmsub132ps(v, a, by); });
}

// The same of n times 2^k: 1 - 2^-k is exact, and so is what either operation
// rounds.
template <isa_t isa>
void jit_lanes_t<isa>::round_multiplied(
        const vmm_t &v, data_type_t type, const vmm_t &a) {
    const float power = factor_to_round(type);
    constants_.with(bits_of_f32((power - 1) / power),
            [&](const Operand &by) { h_.vmulps(a, v, by); });
    h_.vsubps(v, v, a);
}

template <isa_t isa>
void jit_lanes_t<isa>::round(const vmm_t &v, data_type_t type,
        float_rounding_t rounding, const vmm_t &a) {
    if (type == data_type_t::f32) return;
    if (rounding == float_rounding_t::ordinary)
        return round_ordinary(v, type, a);
    if (type == data_type_t::f16) {
        const std::conditional_t<is_avx512, Ymm, Xmm> half(v.getIdx());
        h_.vcvtps2ph(half, v, 0);
        h_.vcvtph2ps(v, half);
    } else if (type == data_type_t::bf16) {
        round_upper_half(v, rounding, a);
        constants_.with(0xffff0000u, [&](const Operand &mask) {
            if (is_avx512) h_.vpandd(v, v, mask);
            else h_.vpand(v, v, mask);
        });
    }
}

template class jit_lanes_t<isa_avx512_core>;
template class jit_lanes_t<isa_avx2>;

} // namespace dnnl_dequant
