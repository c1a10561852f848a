#include "kernels/jit/small_float.hpp"

#include "base/float_format.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int significand_bits = 23;
constexpr uint32_t implied_one = 1u << significand_bits;
constexpr uint32_t sign_bit = 0x80000000u;
constexpr uint32_t infinity = 0x7f800000u;
constexpr uint32_t quiet_nan = 0x7fc00000u;

} // namespace

template <isa_t isa>
typename jit_small_float_t<isa>::format_t jit_small_float_t<isa>::format_of(
        data_type_t type) {
    const float_format_t format = float_format_of(type);
    const int m = format.significand_bits;
    format_t made {format.magnitude_bits(), m, format.bias, 0,
            !format.has_negative_zero(), 0};
    if (format.has_nan()) made.special_or = quiet_nan;
    if (!format.has_nan() || !format.has_negative_zero()) return made;
    made.special = format.has_infinity() ? format.infinity() : format.nan();
    made.special <<= significand_bits - m;
    if (format.has_infinity()) made.special_or = infinity;
    return made;
}

template <isa_t isa>
jit_small_float_t<isa>::jit_small_float_t(
        jit_generator_t &host, data_type_t type, int first_vmm)
    : h_(host)
    , type_(type)
    , format_(format_of(type))
    , vmm_mask_(is_avx512 ? first_vmm : 0)
    , vmm_step_(is_avx512 ? first_vmm + 1 : 0)
    , vmm_least_(is_avx512 ? first_vmm + 2 : 0)
    , vmm_one_(is_avx512 ? first_vmm + 3 : 0)
    , vmm_sign_(is_avx512 ? first_vmm + 4 : 0)
    , vmm_special_(is_avx512 ? first_vmm + 5 : 0)
    , vmm_special_or_(is_avx512 ? first_vmm + 6 : 0) {}

template <isa_t isa>
uint32_t jit_small_float_t<isa>::magnitude_mask() const {
    return ((1u << format_.magnitude_bits) - 1u)
           << (significand_bits - format_.significand_bits);
}

template <isa_t isa>
uint32_t jit_small_float_t<isa>::exponent_step() const {
    return static_cast<uint32_t>(127 - format_.bias) << significand_bits;
}

// 2^(1 - bias), as bits of the type and as a float.
template <isa_t isa>
uint32_t jit_small_float_t<isa>::least_normal() const {
    return exponent_step() + implied_one;
}

template <isa_t isa>
void jit_small_float_t<isa>::load_constants() {
    if (!is_avx512) return;
    if (by_halves(type_)) return load_halves_constants();
    h_.vmovups(vmm_mask_, h_.constant(magnitude_mask()));
    h_.vmovups(vmm_step_, h_.constant(exponent_step()));
    h_.vmovups(vmm_least_, h_.constant(least_normal()));
    h_.vmovups(vmm_one_, h_.constant(implied_one));
    h_.vmovups(vmm_sign_, h_.constant(sign_bit));
    h_.vmovups(vmm_special_, h_.constant(format_.special));
    h_.vmovups(vmm_special_or_, h_.constant(format_.special_or));
}

template <isa_t isa>
void jit_small_float_t<isa>::load_halves_constants() {
    constexpr uint32_t exponents_apart = (127 + 15 - 7) << significand_bits;
    h_.vmovups(vmm_mask_, h_.constant(0xbfffbfffu));
    h_.vmovups(vmm_least_, h_.constant(exponents_apart));
    h_.vmovups(vmm_one_, h_.constant(0x00800080u));
    h_.vmovups(vmm_special_, h_.constant(0x40004000u));
    h_.vmovups(vmm_special_or_, h_.constant(quiet_nan));
}

// e5m2 is the upper byte of f16. e4m3's exponent and significand are f16's
// too, of a number 2^8 times smaller; the machine converts subnormal f16 at no
// cost. Its NaN, all ones, is the one magnitude that a one more carries into
// what would be the exponent's highest bit.
template <isa_t isa>
void jit_small_float_t<isa>::convert_bytes(
        const vmm_t &value, const Operand &bytes) {
    const Ymm words(value.getIdx()), next(vmm_step_.getIdx());
    const auto ymm = [](const vmm_t &v) { return Ymm(v.getIdx()); };
    if (type_ == data_type_t::f8_e5m2) {
        h_.vpmovzxbw(words, bytes);
        h_.vpsllw(words, words, 8);
        h_.vcvtph2ps(value, words);
        return;
    }
    h_.vpmovsxbw(words, bytes);
    h_.vpsllw(words, words, 7);
    h_.vpandd(words, words, ymm(vmm_mask_));
    h_.vpaddw(next, words, ymm(vmm_one_));
    h_.vptestnmw(k_special_, next, ymm(vmm_special_));
    h_.vcvtph2ps(vmm_step_, words);
    h_.vmovaps(value, vmm_special_or_);
    h_.vmulps(value | k_special_, vmm_step_, vmm_least_);
}

template <isa_t isa>
void jit_small_float_t<isa>::convert(const vmm_t &value, const vmm_t &raw,
        int position, const vmm_t &a, const vmm_t &b) {
    if (is_avx512) convert_avx512(value, raw, position, a);
    else convert_avx2(value, raw, position, a, b);
}

template <isa_t isa>
void jit_small_float_t<isa>::convert_avx512(
        const vmm_t &value, const vmm_t &raw, int position, const vmm_t &sign) {
    constexpr uint8_t less = 1, not_less = 5;
    const auto shift = [position](int from, int to) {
        return static_cast<uint8_t>(to - from - position);
    };
    h_.vpslld(sign, raw, shift(format_.magnitude_bits, 31));
    h_.vpslld(
            value, raw, shift(0, significand_bits - format_.significand_bits));
    h_.vpandd(value, value, vmm_mask_);
    if (format_.special != 0)
        h_.vpcmpd(k_special_, value, vmm_special_, not_less);
    h_.vpaddd(value, value, vmm_step_);
    h_.vpcmpd(k_subnormal_, value, vmm_least_, less);
    h_.vpaddd(value | k_subnormal_, value, vmm_one_);
    h_.vsubps(value | k_subnormal_, value, vmm_least_);
    h_.vpternlogd(value, sign, vmm_sign_, 0xf8); // value | (sign & mask)
    if (format_.negative_zero_is_nan) h_.vpcmpeqd(k_special_, value, vmm_sign_);
    if (format_.special_or != 0)
        h_.vpord(value | k_special_, value, vmm_special_or_);
}

template <isa_t isa>
void jit_small_float_t<isa>::convert_avx2(const vmm_t &value, const vmm_t &raw,
        int position, const vmm_t &sign, const vmm_t &mask) {
    const auto shift = [position](int from, int to) {
        return static_cast<uint8_t>(to - from - position);
    };
    h_.vpslld(sign, raw, shift(format_.magnitude_bits, 31));
    h_.vpand(sign, sign, h_.constant(sign_bit));
    h_.vpslld(
            value, raw, shift(0, significand_bits - format_.significand_bits));
    h_.vpand(value, value, h_.constant(magnitude_mask()));
    if (format_.special != 0) {
        // Into the sign's vector, which is joined last.
        h_.vpcmpgtd(mask, value, h_.constant(format_.special - 1));
        h_.vpand(mask, mask, h_.constant(format_.special_or));
        h_.vpor(sign, sign, mask);
    }
    h_.vpaddd(value, value, h_.constant(exponent_step()));
    h_.vpcmpgtd(mask, value, h_.constant(least_normal() - 1));
    h_.vpandn(mask, mask, h_.constant(implied_one));
    h_.vpaddd(value, value, mask);
    // The implied one's bit becomes all ones, then 2^(1 - bias).
    h_.vpslld(mask, mask, 31 - significand_bits);
    h_.vpsrad(mask, mask, 31);
    h_.vpand(mask, mask, h_.constant(least_normal()));
    h_.vsubps(value, value, mask);
    h_.vpor(value, value, sign);
    if (format_.negative_zero_is_nan) {
        h_.vpcmpeqd(mask, value, h_.constant(sign_bit));
        h_.vpand(mask, mask, h_.constant(format_.special_or));
        h_.vpor(value, value, mask);
    }
}

template class jit_small_float_t<isa_avx512_core>;
template class jit_small_float_t<isa_avx2>;

} // namespace dnnl_dequant
