#ifndef KERNELS_JIT_NIBBLE_TABLE_HPP
#define KERNELS_JIT_NIBBLE_TABLE_HPP

#include "kernels/jit/io.hpp"

namespace dnnl_dequant {

/// Any function of a nibble as a permutation of its sixteen results, already
/// rounded to dst. AVX-512 only.
///   f32   in the lanes of one vector
///   f16   twice in a vector's words, one sixteen after the other
///   bf16  twice in a vector's words, side by side
/// Each order is the cheapest for its type: a bit above or below a nibble need
/// not be cleared. A step is 16 elements of f32 and 32 of the others. It is a
/// load or two, a shift, a permutation and a store. Nibbles stand two a byte,
/// or in either half of a byte each.
class jit_nibble_table_t {
public:
    using io_t = jit_io_t<isa_avx512_core>;

    /// @param io Serves `src` (4 bits, in containers of 4 or 8) and `dst`; its
    ///     tail masks are used.
    /// @param first_vmm The lowest of the table's own vmm_needed registers.
    jit_nibble_table_t(jit_generator_t &host, io_t &io, const src_format_t &src,
            data_type_t dst, int first_vmm);

    static constexpr int vmm_needed = 4;

    uint32_t width() const { return dst_ == data_type_t::f32 ? 16 : 32; }

    void load_constants();

    /// Lane i: the number that nibble i stands for, as f32.
    const Xbyak::Zmm &vmm_numbers() const { return vmm_numbers_; }

    /// Makes the table of 16 results, which die.
    void set(const Xbyak::Zmm &results, const Xbyak::Zmm &tmp);

    /// Emits one step from src to dst.
    void convert(const Xbyak::RegExp &dst, const Xbyak::RegExp &src,
            const Xbyak::Zmm &tmp, bool tail);

private:
    void load_word_indices(
            const Xbyak::Zmm &indices, const Xbyak::RegExp &src, bool tail);
    void load_byte_indices(
            const Xbyak::Zmm &indices, const Xbyak::RegExp &src, bool tail);

    jit_generator_t &h_;
    io_t &io_;
    const src_format_t src_;
    const data_type_t dst_;
    const Xbyak::Zmm vmm_numbers_, vmm_table_, vmm_spread_, vmm_shifts_;
};

} // namespace dnnl_dequant

#endif
