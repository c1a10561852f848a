#ifndef KERNELS_JIT_F8_TABLE_HPP
#define KERNELS_JIT_F8_TABLE_HPP

#include "kernels/jit/code_results.hpp"
#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

/// Multiples of floats of 8 bits as a permutation of those of the 128
/// magnitudes, already rounded to bf16 or f16. Four vectors of words hold them,
/// and one lookup covers two; the sign is the byte's. A step is 32 elements.
/// AVX-512 only, and e5m2 and e4m3 only: the other types have one code for NaN,
/// the code of negative zero.
class jit_f8_table_t {
public:
    using io_t = jit_io_t<isa_avx512_core>;

    /// Below so many elements the table costs more than it saves, measured on
    /// Cascade Lake; 0: always, as for e5m2 and f16, which have a byte in
    /// common.
    static dim_t least_elements(data_type_t src, data_type_t dst) {
        if (dst == data_type_t::f32) return 0;
        if (src == data_type_t::f8_e4m3) return 96;
        const bool pays
                = src == data_type_t::f8_e5m2 && dst == data_type_t::bf16;
        return pays ? 512 : 0;
    }

    /// `io` is for dense `src` and `dst`, and its tail masks are used;
    /// `first_vmm` is the lowest of vmm_needed registers of the table's own.
    jit_f8_table_t(jit_generator_t &host, io_t &io, data_type_t src,
            data_type_t dst, int first_vmm);

    static constexpr int vmm_needed = 6;
    static constexpr uint32_t width = 32;

    void load_constants();

    /// Makes the table for the f32 at `scale`.
    void set(const Xbyak::Reg64 &scale, const Xbyak::Zmm &a,
            const Xbyak::Zmm &b, const Xbyak::Zmm &tmp);

    /// Emits one step from src to dst. Clobbers k6.
    void convert(const Xbyak::RegExp &dst, const Xbyak::RegExp &src,
            const Xbyak::Zmm &index, const Xbyak::Zmm &low,
            const Xbyak::Zmm &high, bool tail);

private:
    jit_generator_t &h_;
    io_t &io_;
    const jit_code_results_t results_;
    const int first_vmm_;
    const Xbyak::Zmm vmm_upper_, vmm_sign_;
    const Xbyak::Opmask k_upper_ {6};
};

} // namespace dnnl_dequant

#endif
