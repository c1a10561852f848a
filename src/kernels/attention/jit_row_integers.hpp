#ifndef KERNELS_ATTENTION_JIT_ROW_INTEGERS_HPP
#define KERNELS_ATTENTION_JIT_ROW_INTEGERS_HPP

#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

/// Makes integers of a row of numbers, by AVX-512 VNNI. The row's largest
/// magnitude becomes 127 * 256^(digits - 1). Numbers become integers by way of
/// f64, so that three digits round once.
///
/// Digits have signs, so a digit of 128 or more takes 256 from the next one. To
/// add 128 to every digit of an integer at once does that, and bytes with their
/// highest bit turned are the digits then.
class jit_row_integers_t : public jit_simd_t {
protected:
    static constexpr dim_t lanes = 16;

    jit_row_integers_t(const char *name, int digits)
        : jit_simd_t(name)
        , digits_count_(digits) {}

    /// Takes numbers into the largest magnitude. Bits are compared as integers,
    /// so infinity and NaN are the largest. `magnitudes` is scratch.
    void join_largest(const Zmm &numbers, const Zmm &magnitudes) {
        bit_and(magnitudes, numbers, constant(0x7fffffffu));
        vpmaxud(largest_, largest_, magnitudes);
    }

    /// unit_ = 127 * 256^(digits - 1) / largest, in each f64. norm = the
    /// largest times 128 / 127 in lane 0, NaN if it is not finite. Uses x_ and
    /// y_.
    void find_unit(const Zmm &norm);

    /// Makes integers of sixteen numbers in memory. `upper` is scratch.
    void make_integers(const Zmm &to, const Zmm &upper, const RegExp &numbers);
    /// Each byte of an integer becomes a digit, the least one first.
    void turn_into_digits(const Zmm &x);

    const int digits_count_;
    const Reg64 bits_ = general_.take("bits", Xbyak::util::r9);
    vector_registers_t<isa_avx512_core_vnni> vectors_;
    const Zmm largest_ = vectors_.take("largest"),
              unit_ = vectors_.take("unit"), x_ = vectors_.take("numbers"),
              y_ = vectors_.take("more numbers");
};

} // namespace dnnl_dequant

#endif
