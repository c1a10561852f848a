#ifndef KERNELS_SKINNY_GEMM_JIT_TRANSPOSE_NIBBLES_HPP
#define KERNELS_SKINNY_GEMM_JIT_TRANSPOSE_NIBBLES_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// A tile on AVX-512: rows, and bytes of each.
constexpr dim_t transposed_rows = 128, transposed_line = 64;
constexpr dim_t transposed_bytes = transposed_rows * transposed_line;

struct jit_transpose_words_args_t {
    const void *from;
    dim_t pitch; // bytes from row to row of `from`
    void *to;
};

/// Transposes the words of a tile of [K,N] weights. Each of a line's words
/// becomes one of all rows, a vector of each 32 rows.
using jit_transpose_words_t = jit_function_t<const jit_transpose_words_args_t>;

result_t make_jit_transpose_words(jit_transpose_words_t &transpose);

/// Bytes from the first dwords of a tile's rows to their second ones.
constexpr dim_t transposed_dwords_bytes = transposed_rows * 4;

struct jit_transpose_dwords_args_t {
    const void *from; // a line of each row
    dim_t pitch;      // bytes from row to row of `from`
    void *to;
    dim_t vectors; // of sixteen rows each
    dim_t mask;    // of the line's dwords that exist; others become 0
};

/// Transposes the dwords of weights, whose rows may be those of [K,N] or [N,K].
using jit_transpose_dwords_t
        = jit_function_t<const jit_transpose_dwords_args_t>;

result_t make_jit_transpose_dwords(jit_transpose_dwords_t &transpose);

/// A tile on AVX2: its columns, the rows of a step, the most rows, and the
/// bytes from column to column once it is transposed.
constexpr dim_t transpose_avx2_cols = 64, transpose_avx2_step = 32,
                transpose_avx2_rows = 512,
                transpose_avx2_pitch = transpose_avx2_rows / 2;

struct jit_transpose_nibbles_avx2_args_t {
    const void *from;
    void *to;
    dim_t pitch; // bytes from row to row
    dim_t steps;
    dim_t ahead; // prefetch distance, bytes
};

/// Transposes [K,N] nibbles.
using jit_transpose_nibbles_avx2_t
        = jit_function_t<const jit_transpose_nibbles_avx2_args_t>;

result_t make_jit_transpose_nibbles_avx2(
        jit_transpose_nibbles_avx2_t &transpose);

} // namespace dnnl_dequant

#endif
