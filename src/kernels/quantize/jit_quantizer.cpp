#include "kernels/quantize/jit_quantizer.hpp"

#include "base/bits.hpp"
#include "kernels/dequantize/jit_params.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// Remainders of quotients clamped to this are finite, and sums with it are
// beyond all integers' ranges.
constexpr float far = 0x1p40f;
// Integers of 32 bits hold the sum of this and a near zero point, which is
// beyond all integers of 16 bits.
constexpr float near = 0x1p24f;
static_assert(near > 2.f * most_near_zp, "such sums saturate");

} // namespace

template <isa_t isa>
jit_quantizer_t<isa>::jit_quantizer_t(
        jit_generator_t &host, const jit_quantize_desc_t &desc, int vmm_scratch)
    : h_(host)
    , desc_(desc)
    , vmm_scratch_(vmm_scratch) {
    if (desc.to_small_floats())
        small_float_
                = std::make_unique<jit_to_small_float_t<isa>>(host, desc.dst);
}

template <isa_t isa>
void jit_quantizer_t<isa>::quantize(const vmm_t &x, const Operand &scale,
        const Operand &reciprocal, const Operand &zp) {
    if (desc_.true_division) divide(x, scale);
    else multiply(x, scale, reciprocal);
    if (desc_.is_wide()) to_wide_integers(x, zp);
    else if (desc_.to_integers()) to_integers(x, zp);
    else to_floats(x, zp);
}

template <isa_t isa>
void jit_quantizer_t<isa>::divide(const vmm_t &x, const Operand &scale) {
    h_.vdivps(x, x, scale);
    if (desc_.to_integers()) clear_nan(x);
}

// NaN becomes 0.
template <isa_t isa>
void jit_quantizer_t<isa>::clear_nan(const vmm_t &x) {
    if (sums_by_magnitude()) return; // which clears it itself
    constexpr uint8_t ordered = 7;
    const vmm_t mask = scratch(0);
    if (is_avx512) {
        h_.vcmpps(k_ordered_, x, x, ordered);
        // Most conversions clear by the mask.
        if (desc_.is_wide()) h_.vmovaps(x | k_ordered_ | util::T_z, x);
    } else {
        h_.vcmpps(mask, x, x, ordered);
        h_.vandps(x, x, mask);
    }
}

template <isa_t isa>
void jit_quantizer_t<isa>::multiply(
        const vmm_t &x, const Operand &scale, const Operand &reciprocal) {
    quotient(x, scale, reciprocal, !are_small());
    if (!desc_.has_no_nan) clear_nan(x);
}

// A quotient that may be far is held to `far`, since no remainder of an
// infinite one would be of use: its sum with the quotient is NaN. A NaN x is
// one again in the remainder. Quotients that are snapped have no remainder.
template <isa_t isa>
void jit_quantizer_t<isa>::quotient(const vmm_t &x, const Operand &scale,
        const Operand &reciprocal, bool may_be_far) {
    if (desc_.snaps_quotients()) {
        h_.vfmadd132ps(x, static_cast<const Xmm &>(scale), reciprocal);
        h_.vsubps(x, x, scale);
        return;
    }
    const vmm_t q = scratch(0);
    h_.vmulps(q, x, reciprocal);
    if (may_be_far) hold(q, far);
    h_.vfnmadd231ps(x, q, scale);
    h_.vfmadd132ps(x, q, reciprocal);
}

template <isa_t isa>
void jit_quantizer_t<isa>::divide_and_round(
        const vmm_t &x, const Operand &scale, const Operand &reciprocal) {
    quotient(x, scale, reciprocal, false);
    h_.vcvtps2dq(x, x);
}

// To at most the magnitude `most`; a NaN becomes some number.
template <isa_t isa>
void jit_quantizer_t<isa>::hold(const vmm_t &x, float most) {
    if (is_avx512) {
        // The lesser magnitude, of x's sign.
        constexpr uint8_t least_magnitude = 0x2;
        h_.vrangeps(x, x, h_.constant(bits_of_f32(most)), least_magnitude);
    } else {
        h_.vminps(x, x, h_.constant(bits_of_f32(most)));
        h_.vmaxps(x, x, h_.constant(bits_of_f32(-most)));
    }
}

template <isa_t isa>
void jit_quantizer_t<isa>::to_integers(const vmm_t &x, const Operand &zp) {
    if (!are_small()) hold(x, near);
    // The conversion rounds to the nearest, even at ties.
    if (is_avx512 && !desc_.has_no_nan)
        h_.vcvtps2dq(x | k_ordered_ | util::T_z, x);
    else h_.vcvtps2dq(x, x);
    if (desc_.has_zps()) h_.vpaddd(x, x, zp);
}

// True if sums are beyond 32 bits, but zero points are of dst's family, or dst
// has fewer bits. Then sums have 32 bits without a sign once the lowest integer
// is subtracted.
template <isa_t isa>
bool jit_quantizer_t<isa>::sums_by_magnitude() const {
    if (!is_avx512 || !desc_.is_wide()) return false;
    const bool is_signed = family_of(desc_.dst) == type_family_t::signed_int;
    if (!desc_.has_zps()) return desc_.bits() == 32;
    const auto zps = family_of(desc_.zps);
    // Storing saturates to 8 and 16 bits, not to fewer.
    if (desc_.bits() < 32)
        return desc_.bits() >= 8 && desc_.zps == data_type_t::s32;
    return (zps == type_family_t::signed_int) == is_signed;
}

// Sums of a biased zero point z and a quotient rounded to the magnitude m are
//      z + min(m, 2^32 - 1 - z)  or  z - min(m, z)
// in 32 bits without a sign. Magnitudes saturate there.
template <isa_t isa>
void jit_quantizer_t<isa>::to_wide_by_magnitude(
        const vmm_t &x, const Operand &zp) {
    constexpr uint32_t highest_bit = 0x80000000u;
    const vmm_t z = scratch(1), most = scratch(2), sum = scratch(3);
    const bool to_u32 = desc_.dst == data_type_t::u32;
    if (to_u32 && !desc_.has_zps()) {
        // If x is NaN, the maximum is the second operand.
        h_.vmaxps(x, x, h_.constant(0));
        h_.vcvtps2udq(x, x);
        return;
    }
    constexpr uint8_t ordered = 7;
    h_.vcmpps(k_ordered_, x, x, ordered);
    h_.vpmovd2m(k_negative_, Zmm(x.getIdx()));
    h_.vandps(x, x, h_.constant(~highest_bit));
    h_.vcvtps2udq(x | k_ordered_ | util::T_z, x);
    if (!desc_.has_zps()) h_.vmovups(z, h_.constant(highest_bit));
    else h_.vmovups(z, zp);
    // Zero points are staged with this bit flipped if they are u32.
    const bool is_flipped = desc_.zps == data_type_t::u32;
    if (desc_.has_zps() && is_flipped == to_u32)
        h_.vpxord(z, z, h_.constant(highest_bit));
    h_.vpxord(most, z, h_.constant(~0u));
    h_.vmovdqa32(most | k_negative_, z);
    h_.vpminud(x, x, most);
    h_.vpsubd(sum, z, x);
    h_.vpaddd(x, z, x);
    h_.vmovdqa32(x | k_negative_, sum);
    if (!to_u32) h_.vpxord(x, x, h_.constant(highest_bit));
}

// Adds in f64, which holds all sums exactly.
template <isa_t isa>
void jit_quantizer_t<isa>::to_wide_integers(const vmm_t &x, const Operand &zp) {
    if (sums_by_magnitude()) return to_wide_by_magnitude(x, zp);
    constexpr uint8_t nearest_even = 0;
    if (is_avx512) h_.vrndscaleps(x, x, nearest_even);
    else h_.vroundps(x, x, nearest_even);
    hold(x, far);
    const vmm_t zps = scratch(1);
    if (desc_.has_zps()) h_.vmovups(zps, zp);
    wide_half(scratch(2), x, zps, 1);
    wide_half(x, x, zps, 0);
    if (is_avx512)
        h_.vinserti64x4(
                Zmm(x.getIdx()), Zmm(x.getIdx()), Ymm(vmm_scratch_ + 2), 1);
    else
        h_.vinserti128(
                Ymm(x.getIdx()), Ymm(x.getIdx()), Xmm(vmm_scratch_ + 2), 1);
    if (desc_.dst == data_type_t::u32)
        h_.vxorps(x, x, h_.constant(0x80000000u));
}

// Converts one half of the lanes to integers in the low half of `to`; those of
// u32 less 2^31. A zero point of u32 is read as s32 less 2^31 too.
template <isa_t isa>
void jit_quantizer_t<isa>::wide_half(
        const vmm_t &to, const vmm_t &x, const vmm_t &zp, int half) {
    using half_t = std::conditional_t<is_avx512, Ymm, Xmm>;
    const half_t low_of_to(to.getIdx());
    const vmm_t sum = scratch(3);
    const half_t low_of_sum(sum.getIdx());
    const auto take = [&](const half_t &into, const vmm_t &from) {
        if (is_avx512)
            h_.vextractf64x4(Ymm(into.getIdx()), Zmm(from.getIdx()), 1);
        else h_.vextractf128(Xmm(into.getIdx()), Ymm(from.getIdx()), 1);
    };
    const half_t low_of_x(x.getIdx()), low_of_zp(zp.getIdx());
    double correction = 0;
    if (half == 1) take(low_of_to, x);
    h_.vcvtps2pd(to, half == 1 ? low_of_to : low_of_x);
    if (desc_.has_zps()) {
        if (half == 1) take(low_of_sum, zp);
        const half_t &from = half == 1 ? low_of_sum : low_of_zp;
        h_.vcvtdq2pd(sum, from);
        h_.vaddpd(to, to, sum);
        if (desc_.zps == data_type_t::u32) correction += 0x1p31;
    }
    const bool to_u32 = desc_.dst == data_type_t::u32;
    if (to_u32) correction -= 0x1p31;
    if (correction != 0)
        h_.vaddpd(to, to, h_.constant(jit_generator_t::doubles(correction)));
    const auto range = range_of(desc_.dst);
    const double offset = to_u32 ? -0x1p31 : 0;
    h_.vmaxpd(to, to,
            h_.constant(jit_generator_t::doubles(
                    static_cast<double>(range.lowest) + offset)));
    h_.vminpd(to, to,
            h_.constant(jit_generator_t::doubles(
                    static_cast<double>(range.highest) + offset)));
    h_.vcvtpd2dq(low_of_to, to);
}

template <isa_t isa>
void jit_quantizer_t<isa>::to_floats(const vmm_t &x, const Operand &zp) {
    if (desc_.has_zps()) h_.vaddps(x, x, zp);
    if (desc_.saturates) {
        // If one operand is NaN, the instructions give the second: x.
        const vmm_t bound = scratch(0);
        h_.vmovups(bound, h_.constant(bits_of_f32(desc_.lower)));
        h_.vmaxps(x, bound, x);
        h_.vmovups(bound, h_.constant(bits_of_f32(desc_.upper)));
        h_.vminps(x, bound, x);
    }
    if (small_float_)
        small_float_->convert(
                x, {scratch(0), scratch(1), scratch(2), scratch(3)});
}

template class jit_quantizer_t<isa_avx512_core>;
template class jit_quantizer_t<isa_avx2>;

} // namespace dnnl_dequant
