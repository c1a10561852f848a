#ifndef KERNELS_QUANTIZE_JIT_QUANTIZER_HPP
#define KERNELS_QUANTIZE_JIT_QUANTIZER_HPP

#include <memory>

#include "kernels/jit/generator.hpp"
#include "kernels/jit/to_small_float.hpp"
#include "kernels/quantize/jit_quantize_desc.hpp"

namespace dnnl_dequant {

/// One vector from f32 lanes x to quotients, and on to what dst holds, one a
/// lane: integers, codes of small floats, or f32 still to be rounded.
///
/// The division is true, or q = x / s by the reciprocal r = 1 / s, rounded:
///      q0 = x * r, e = x - q0 * s, q = q0 + e * r
/// A fused multiply-add makes the remainder e exact. Then q is the nearest f32
/// (Markstein), with two exceptions. Scales that are not ordinary
/// (dequantize/jit_params.hpp) are divided by: something might under- or
/// overflow, or s has a significand of all ones. A quotient so small or so
/// large that q is not the nearest rounds to the same integer, or saturates
/// likewise.
///
/// If x and s have significands of 11 bits at most, X and S, and dst has 8
/// bits, then (desc.snaps_quotients())
///      q = (x * r + snapper) - snapper
/// The exact quotient is a tie, n / 2 with n odd, or at least 2^-12 from any.
/// For it differs from n / 2 by (2^k X - n S) / 2S with k an integer. The
/// distance is 1 / 2S at least if 2^k X is an integer. Else the quotient is
/// X / 4S at most, which is below 1 / 2 by 2^-12 at least. The product and the
/// first sum are rounded once, to a multiple of 2^-12, since all sums that
/// count are in [2048, 4096): quotients of 512 and more saturate. The error of
/// r moves the quotient by 2^-15 at most. So ties become ties, others stay on
/// their side.
template <isa_t isa>
class jit_quantizer_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr int scratch_count = 4;
    static constexpr float snapper = 3072.f;

    /// vmm_scratch: the first of scratch_count registers.
    jit_quantizer_t(jit_generator_t &host, const jit_quantize_desc_t &desc,
            int vmm_scratch);

    /// Replaces `x` by the result, not yet clamped where that is an integer.
    /// Zero points are f32 for floating dst, else integers of 32 bits. `scale`
    /// is a register of `snapper` if quotients are snapped. Clobbers k6 and k7.
    void quantize(const vmm_t &x, const Xbyak::Operand &scale,
            const Xbyak::Operand &reciprocal, const Xbyak::Operand &zp);

    /// Replaces `x` by the nearest integer of 32 bits of its quotient by an
    /// ordinary scale, which is a register of `snapper` if quotients are
    /// snapped. The result is the least integer if x is NaN, or the quotient
    /// NaN or beyond 32 bits.
    void divide_and_round(const vmm_t &x, const Xbyak::Operand &scale,
            const Xbyak::Operand &reciprocal);

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;

    // True if no quotient need be held to what an integer holds.
    bool are_small() const {
        return desc_.has_small_quotients && !desc_.true_division;
    }
    vmm_t scratch(int i) const { return vmm_t(vmm_scratch_ + i); }
    void divide(const vmm_t &x, const Xbyak::Operand &scale);
    void multiply(const vmm_t &x, const Xbyak::Operand &scale,
            const Xbyak::Operand &reciprocal);
    void quotient(const vmm_t &x, const Xbyak::Operand &scale,
            const Xbyak::Operand &reciprocal, bool may_be_far);
    void clear_nan(const vmm_t &x);
    void hold(const vmm_t &x, float most);
    void to_integers(const vmm_t &x, const Xbyak::Operand &zp);
    void to_wide_integers(const vmm_t &x, const Xbyak::Operand &zp);
    bool sums_by_magnitude() const;
    void to_wide_by_magnitude(const vmm_t &x, const Xbyak::Operand &zp);
    void wide_half(const vmm_t &to, const vmm_t &x, const vmm_t &zp, int half);
    void to_floats(const vmm_t &x, const Xbyak::Operand &zp);

    jit_generator_t &h_;
    const jit_quantize_desc_t desc_;
    const int vmm_scratch_;
    const Xbyak::Opmask k_ordered_ {6}, k_negative_ {7};
    std::unique_ptr<jit_to_small_float_t<isa>> small_float_;
};

} // namespace dnnl_dequant

#endif
