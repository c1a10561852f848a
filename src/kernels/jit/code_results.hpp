#ifndef KERNELS_JIT_CODE_RESULTS_HPP
#define KERNELS_JIT_CODE_RESULTS_HPP

#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

/// Results for 32 successive codes of an 8-bit type, from which tables are
/// made: two vectors of f32, then words of bf16 or f16. AVX-512 only.
struct jit_code_results_t {
    data_type_t src, dst;

    /// The numbers that one of the two vectors, `part` 0 or 1, has of the codes
    /// from `first` on: of bf16 every other one, of f16 sixteen.
    jit_generator_t::lanes_t numbers(int first, int part) const;

    /// Rounds both parts to the words of `table`, in the order of the codes.
    /// `io` rounds bf16 by integers; a, b and tmp die.
    void round(jit_generator_t &h, jit_io_t<isa_avx512_core> &io,
            const Xbyak::Zmm &table, const Xbyak::Zmm &a, const Xbyak::Zmm &b,
            const Xbyak::Zmm &tmp) const;
};

} // namespace dnnl_dequant

#endif
