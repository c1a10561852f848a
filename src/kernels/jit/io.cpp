#include "kernels/jit/io.hpp"

#include <cstring>

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// Exponent bits of the float 2^power.
constexpr uint32_t power_of_two(int power) {
    return static_cast<uint32_t>(127 + power) << 23;
}

constexpr int significand_bits = 23;

// The lower part of 32-bit integers; jit_params.hpp has the same for zero
// points.
constexpr int low_part_bits = 10;
constexpr uint32_t low_part = (1u << low_part_bits) - 1u;

} // namespace

src_format_t dense_format(data_type_t type) {
    const int bits = bits_of(type);
    if (bits > 32 || type == data_type_t::e8m0) return {type, 0, 0, 0};
    return {type, bits, bits, 0};
}

namespace {

// Two vectors a step: see the class.
template <isa_t isa>
int fields_of(const src_format_t &src, data_type_t dst, bool in_halves) {
    if (in_halves) return 2;
    const bool pairs = dst == data_type_t::bf16 && src.container_bits <= 16
                       && src.type != data_type_t::f16
                       && !jit_small_float_t<isa>::by_halves(src.type);
    return pairs ? 2 : 1;
}

} // namespace

template <isa_t isa>
jit_io_t<isa>::jit_io_t(jit_generator_t &host, const src_format_t &src,
        data_type_t dst, int first_vmm, bool in_halves)
    : h_(host)
    , src_(src)
    , dst_(dst)
    , in_halves_(in_halves)
    , fields_(fields_of<isa>(src, dst, in_halves))
    , vmm_mask_ {vmm_t(first_vmm), vmm_t(first_vmm + 1)}
    , vmm_magic_ {vmm_t(first_vmm + 2), vmm_t(first_vmm + 3)}
    , vmm_word_masks_(first_vmm)
    , vmm_word_order_(first_vmm + 1)
    , vmm_word_magic_(first_vmm + 2)
    , vmm_word_signs_(first_vmm + 3)
    , vmm_upper_words_(first_vmm + 3)
    , vmm_shifts_(first_vmm + 4)
    , vmm_one_(first_vmm + 4)
    , vmm_to_even_(first_vmm + 4)
    , vmm_half_(first_vmm + 5)
    , vmm_odd_bit_(first_vmm + 6)
    , small_float_(host, src.type, first_vmm + vmm_own) {}

// The upper of two 16-bit containers is above any significand: it is moved to
// where the lower one is.
template <isa_t isa>
bool jit_io_t<isa>::is_shifted(int field) const {
    return field == 1 && !in_halves_ && src_.container_bits == 16;
}

template <isa_t isa>
int jit_io_t<isa>::position(int field) const {
    if (is_shifted(field)) return 0;
    if (in_halves_) return src_.shift;
    // Bytes have a word each by then.
    if (unpacks() && src_.container_bits == 8) return src_.shift;
    return field * src_.container_bits + src_.shift;
}

template <isa_t isa>
uint32_t jit_io_t<isa>::mask_at(int position) const {
    return ((1u << src_.bits) - 1u) << position;
}

// 2^k such that the lowest bit has the weight 1. Flipping the sign bit adds
// half the range.
template <isa_t isa>
uint32_t jit_io_t<isa>::magic_at(int position) const {
    return power_of_two(significand_bits - position) ^ sign_at(position);
}

template <isa_t isa>
uint32_t jit_io_t<isa>::sign_at(int position) const {
    return src_.is_signed() ? 1u << (position + src_.bits - 1) : 0u;
}

template <isa_t isa>
uint32_t jit_io_t<isa>::bias_at(int position) const {
    const int power = significand_bits - position;
    const int half_range = src_.is_signed() ? 1 << (src_.bits - 1) : 0;
    const auto value = static_cast<float>((1 << power) + half_range);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Nibbles that stay in place are in the low half in even lanes.
template <isa_t isa>
typename jit_io_t<isa>::lanes_t jit_io_t<isa>::lanes_of(
        uint32_t (jit_io_t::*each)(int position) const, int field) const {
    lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = (this->*each)(
                in_place_ ? static_cast<int>(i % 2 * 4) : position(field));
    return lanes;
}

template <isa_t isa>
Address jit_io_t<isa>::bias(int field) {
    if (src_.is_wide()) return h_.constant(power_of_two(significand_bits));
    return h_.constant(lanes_of(&jit_io_t::bias_at, field));
}

template <isa_t isa>
void jit_io_t<isa>::load_constants() {
    if (is_small_float()) small_float_.load_constants();
    if (unpacks()) load_unpacking_constants();
    else if (!src_.is_floating()) load_integer_constants();
    if (dst_ == data_type_t::bf16 && !bf16_conversion_)
        load_rounding_constants();
    else if (in_place_) h_.vmovups(vmm_shifts_, bytes_of_nibbles());
    else if (src_.container_bits < 8) h_.vmovups(vmm_shifts_, shifts());
    if (is_avx512 && !in_place_ && lane_bits() == 4) {
        h_.mov(h_.eax, 0xff00);
        h_.kmovd(k_upper_, h_.eax);
    }
}

template <isa_t isa>
void jit_io_t<isa>::load_integer_constants() {
    if (src_.is_wide()) {
        h_.vmovups(vmm_mask_[0], h_.constant(low_part));
        h_.vmovups(vmm_mask_[1], h_.constant(~low_part));
        h_.vmovups(vmm_magic_[0],
                h_.constant(power_of_two(
                        is_avx512 ? significand_bits : low_part_bits)));
        return;
    }
    for (int f = 0; f < fields_; ++f) {
        h_.vmovups(vmm_mask_[f], h_.constant(lanes_of(&jit_io_t::mask_at, f)));
        h_.vmovups(
                vmm_magic_[f], h_.constant(lanes_of(&jit_io_t::magic_at, f)));
    }
}

// Indices for vpermw: the upper word of each lane, side by side.
template <isa_t isa>
Address jit_io_t<isa>::upper_words() {
    constexpr uint32_t two_words = 0x00040004u;
    lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = 0x00030001u + i % 8 * two_words;
    return h_.constant(lanes);
}

// Indices for vpermt2w: the upper words of two vectors.
template <isa_t isa>
Address jit_io_t<isa>::upper_words_of_halves() {
    constexpr uint32_t two_words = 0x00040004u;
    lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = 0x00030001u + i * two_words;
    return h_.constant(lanes);
}

template <isa_t isa>
void jit_io_t<isa>::load_rounding_constants() {
    if (is_avx512 && fields_ == 1) h_.vmovups(vmm_upper_words_, upper_words());
    if (dot_products_) {
        h_.vmovups(vmm_odd_bit_, h_.constant(0x10000u));
        h_.vmovups(vmm_one_, h_.constant(0x80000000u));
        h_.vmovups(vmm_half_, h_.constant(0xffff0000u));
        set_odd_mask();
        return;
    }
    if (!is_avx512) {
        h_.vmovups(vmm_to_even_, h_.constant(0xfffefffeu));
        h_.vmovups(vmm_half_, h_.constant(0x8000u));
        return;
    }
    h_.vmovups(vmm_one_, h_.constant(1u));
    h_.vmovups(vmm_half_, h_.constant(0x7fffu));
    h_.vmovups(vmm_odd_bit_, h_.constant(0x10000u));
    set_odd_mask();
}

template <isa_t isa>
void jit_io_t<isa>::set_odd_mask() {
    h_.mov(h_.eax, 0xaaaaaaaau);
    h_.kmovd(k_odd_, h_.eax);
}

// Shifts that bring a lane's own 2 or 4 bits (one container or two) to the
// bottom.
template <isa_t isa>
Address jit_io_t<isa>::shifts() {
    const auto bits = static_cast<uint32_t>(lane_bits());
    jit_generator_t::lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = i * bits % 32;
    return h_.constant(lanes);
}

// Indices for vpshufb: lane i of eight bytes in each 128-bit lane has byte i.
template <isa_t isa>
Address jit_io_t<isa>::bytes_of_nibbles() {
    constexpr uint32_t nothing_above = 0x80808000u;
    lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = nothing_above | i / 2;
    return h_.constant(lanes);
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
    if (src_.container_bits < 8) {
        const uint32_t per_byte = elements_per_byte();
        h_.add(h_.rcx, per_byte - 1);
        h_.shr(h_.rcx, static_cast<int>(
                               per_byte / 2)); // 4 a byte: by 2, 2 a byte: by 1
    }
    set_mask(k_src_tail_);
}

template class jit_io_t<isa_avx512_core>;
template class jit_io_t<isa_avx2>;

} // namespace dnnl_dequant
