#ifndef KERNELS_MATMUL_JIT_INTEGER_CODE_HPP
#define KERNELS_MATMUL_JIT_INTEGER_CODE_HPP

#include "kernels/jit/generator.hpp"
#include "kernels/matmul/integer_kernel.hpp"

namespace dnnl_dequant {

/// A tile of up to `most_rows` rows by one panel: integer_kernel_t::multiply().
struct jit_integer_multiply_t {
    jit_function_t<integer_tile_t> code; // steps on what is asked for, too
    dim_t most_rows = 0;
    /// With so many quads of depth, how many pieces of weights it asks for.
    dim_t quads = 1, pieces = 0;
};

/// Emits: asks for a piece of weights and steps to the next. `at`: where it is;
/// rdi has the tile.
void ask_for_piece(jit_generator_t &code, const Xbyak::Reg64 &at);

/// Emits: the indices by which vpermt2d makes sixteen dwords of two vectors,
/// one of each in turns: of their first halves, of their second ones.
void load_interleaving(jit_generator_t &code, const Xbyak::Zmm &first,
        const Xbyak::Zmm &second);

/// Of bytes, and of what is packed.
result_t make_jit_integer_multiply(
        const integer_format_t &format, jit_integer_multiply_t &multiply);
result_t make_jit_integer_packed(
        const integer_format_t &format, jit_integer_multiply_t &multiply);
/// These take weights that are bytes: by AVX-VNNI, and on AVX2 without it.
result_t make_jit_integer_multiply_avx_vnni(
        const integer_format_t &format, jit_integer_multiply_t &multiply);
result_t make_jit_integer_multiply_avx2(
        const integer_format_t &format, jit_integer_multiply_t &multiply);

/// Weights whose columns lie side by side, four rows at a time: `quads` times
/// four rows of a whole panel become bytes, biased.
struct jit_integer_rows_args_t {
    const void *weights;
    uint8_t *quads;
    int32_t *sums; // are added to
    dim_t pitch;   // bytes
    dim_t quad_count;
    dim_t ahead; // bytes to what is asked for
};

/// Weights whose depth lies side by side: `slices` times sixteen columns.
struct jit_integer_columns_args_t {
    static constexpr dim_t cols = 16;

    const void *weights;
    uint8_t *quads;
    int32_t *sums; // are added to
    dim_t pitch;   // bytes
    dim_t bytes;   // of a column; to a whole unit zeros follow
    dim_t slices;
};

using jit_integer_rows_t = jit_function_t<const jit_integer_rows_args_t>;
using jit_integer_columns_t = jit_function_t<const jit_integer_columns_args_t>;

result_t make_jit_integer_unpack(
        const integer_format_t &format, jit_integer_rows_t &code);
result_t make_jit_integer_unpack(
        const integer_format_t &format, jit_integer_columns_t &code);
result_t make_jit_integer_unpack_avx2(
        const integer_format_t &format, jit_integer_rows_t &code);
result_t make_jit_integer_unpack_avx2(
        const integer_format_t &format, jit_integer_columns_t &code);

/// The bits of stored weights that are flipped, which adds the bias: of a
/// byte, or of both its nibbles.
uint8_t flipped_bits(const integer_format_t &format);

} // namespace dnnl_dequant

#endif
