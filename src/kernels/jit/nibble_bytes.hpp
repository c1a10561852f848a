#ifndef KERNELS_JIT_NIBBLE_BYTES_HPP
#define KERNELS_JIT_NIBBLE_BYTES_HPP

#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

/// The AVX2 counterpart of jit_nibble_table_t, for results of 16 bits. The
/// lower and the upper bytes of a nibble's sixteen results are a table of
/// vpshufb each. A step is 32 elements: nibbles two a byte, or in a byte each,
/// in either half of it.
class jit_nibble_bytes_t {
public:
    using io_t = jit_io_t<isa_avx2>;

    /// `io` is for `src` (of 4 bits, in containers of 4 or 8) and `dst` (bf16
    /// or f16); the tables are in two registers of their own.
    jit_nibble_bytes_t(jit_generator_t &host, io_t &io, const src_format_t &src,
            data_type_t dst, const Xbyak::Ymm &low, const Xbyak::Ymm &high);

    static constexpr uint32_t width = 32;

    /// Half the numbers that nibbles stand for, as f32 in set()'s order.
    Xbyak::Address numbers(int half);

    /// Makes the tables of the results of numbers(0) and numbers(1), which die.
    void set(const Xbyak::Ymm &first, const Xbyak::Ymm &second,
            const Xbyak::Ymm &tmp);

    /// Emits one step from src to dst.
    void convert(const Xbyak::RegExp &dst, const Xbyak::RegExp &src,
            const Xbyak::Ymm &tmp_a, const Xbyak::Ymm &tmp_b,
            const Xbyak::Ymm &tmp_c);

private:
    void load_indices(const Xbyak::Ymm &indices, const Xbyak::RegExp &src,
            const Xbyak::Ymm &tmp);

    jit_generator_t &h_;
    io_t &io_;
    const src_format_t src_;
    const data_type_t dst_;
    const Xbyak::Ymm vmm_low_, vmm_high_;
};

} // namespace dnnl_dequant

#endif
