#ifndef KERNELS_JIT_BYTE_TABLE_HPP
#define KERNELS_JIT_BYTE_TABLE_HPP

#include <functional>

#include "kernels/jit/code_results.hpp"
#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

/// Any function of a byte as a permutation of its 256 results, already rounded
/// to bf16 or f16. Four vectors hold the lower bytes of the results, four more
/// the upper ones; one lookup covers 128 results. A step is 64 elements.
/// AVX-512 with VBMI only.
class jit_byte_table_t {
public:
    using io_t = jit_io_t<isa_avx512_core>;

    /// Below so many elements the table may cost more than it saves: making it
    /// takes some 200 instructions, a step of 64 elements saves about ten.
    static constexpr dim_t least_elements = 2048;

    /// `io` is for dense `src`, of one byte, and `dst`; its tail masks are
    /// used. `first_vmm` is the lowest of vmm_needed registers of the table's
    /// own.
    jit_byte_table_t(jit_generator_t &host, io_t &io, data_type_t src,
            data_type_t dst, int first_vmm);

    static constexpr int vmm_needed = 9;
    static constexpr uint32_t width = 64;

    void load_constants();

    /// Makes the table: `compute` is what becomes of sixteen numbers.
    void set(const std::function<void(const Xbyak::Zmm &)> &compute,
            const Xbyak::Zmm &a, const Xbyak::Zmm &b, const Xbyak::Zmm &tmp);

    /// Emits one step from src to dst. Clobbers k6 and k7.
    void convert(const Xbyak::RegExp &dst, const Xbyak::RegExp &src,
            const Xbyak::Zmm &index, const Xbyak::Zmm &low,
            const Xbyak::Zmm &high, bool tail);

private:
    void look_up(const Xbyak::Zmm &to, const Xbyak::Zmm &other,
            const Xbyak::Zmm &index, int first_table);

    jit_generator_t &h_;
    io_t &io_;
    const jit_code_results_t results_;
    const int first_vmm_;
    const Xbyak::Zmm vmm_order_;
    const Xbyak::Opmask k_upper_ {6}, k_second_ {7};
};

} // namespace dnnl_dequant

#endif
