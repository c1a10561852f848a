#ifndef KERNELS_JIT_SMALL_FLOAT_HPP
#define KERNELS_JIT_SMALL_FLOAT_HPP

#include "base/data_type.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"

namespace dnnl_dequant {

/// Floats of 4 or 8 bits in 32-bit lanes to f32, exactly.
///
/// The magnitude's bits go to where f32 has its exponent and significand, and
/// the exponents' difference is added. A subnormal has a significand without
/// the implied one: it gets an exponent of one and 2^(1 - bias) is subtracted.
/// (Multiplying by a power of two instead would do for both, but reads
/// subnormal f32, which costs the machine more than a hundred cycles.)
///
/// With AVX-512, e5m2 and e4m3 are better taken as the halves that have their
/// bits: by_halves().
template <isa_t isa>
class jit_small_float_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;

    /// `first_vmm`: the lowest of vmm_needed registers of its own.
    jit_small_float_t(jit_generator_t &host, data_type_t type, int first_vmm);

    static constexpr int vmm_needed = isa == isa_avx512_core ? 7 : 0;

    void load_constants();

    /// Whether convert_bytes() does it instead of convert().
    static bool by_halves(data_type_t type) {
        return is_avx512
               && (type == data_type_t::f8_e5m2
                       || type == data_type_t::f8_e4m3);
    }

    /// Converts sixteen bytes, in memory or a register, to as many lanes.
    void convert_bytes(const vmm_t &value, const Xbyak::Operand &bytes);

    /// The float whose lowest bit is bit `position` of each lane of `raw`.
    /// `value` may be `raw`; `a` and `b` are others, and scratch.
    void convert(const vmm_t &value, const vmm_t &raw, int position,
            const vmm_t &a, const vmm_t &b);

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;

    struct format_t {
        int magnitude_bits, significand_bits, bias;
        // Magnitudes from this on (as f32 bits before the exponents'
        // difference) are infinity and NaN; 0: there are none.
        uint32_t special;
        bool negative_zero_is_nan;
        // Bits that turn special codes into infinity and NaN in f32.
        uint32_t special_or;
    };
    static format_t format_of(data_type_t type);

    uint32_t magnitude_mask() const;
    uint32_t exponent_step() const;
    uint32_t least_normal() const;
    void load_halves_constants();
    void convert_avx512(const vmm_t &value, const vmm_t &raw, int position,
            const vmm_t &sign);
    void convert_avx2(const vmm_t &value, const vmm_t &raw, int position,
            const vmm_t &sign, const vmm_t &mask);

    jit_generator_t &h_;
    const data_type_t type_;
    const format_t format_;
    const vmm_t vmm_mask_, vmm_step_, vmm_least_, vmm_one_, vmm_sign_,
            vmm_special_, vmm_special_or_;
    const Xbyak::Opmask k_subnormal_ {6}, k_special_ {7};
};

} // namespace dnnl_dequant

#endif
