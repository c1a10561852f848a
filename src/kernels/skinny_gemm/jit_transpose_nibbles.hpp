#ifndef KERNELS_SKINNY_GEMM_JIT_TRANSPOSE_NIBBLES_HPP
#define KERNELS_SKINNY_GEMM_JIT_TRANSPOSE_NIBBLES_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Rows, and columns, of a tile of 4-bit weights on AVX-512.
constexpr dim_t transposed_tile = 128;
constexpr dim_t transposed_bytes = transposed_tile * transposed_tile / 2;
/// A part is 32 rows. Its vector i has those of four columns, a quarter each:
/// i, i + 32, i + 64 and i + 96.
constexpr dim_t transposed_part_bytes = transposed_bytes / 4;

struct jit_transpose_nibbles_args_t {
    const void *from;
    dim_t pitch; // bytes from row to row of `from`
    void *to;
};

/// Transposes a tile of [K,N] nibbles by parts.
using jit_transpose_nibbles_t
        = jit_function_t<const jit_transpose_nibbles_args_t>;

result_t make_jit_transpose_nibbles(jit_transpose_nibbles_t &transpose);

/// Bytes from the first dwords of a tile's columns to their second ones.
constexpr dim_t transposed_dwords_bytes = transposed_tile * 4;

struct jit_transpose_dwords_args_t {
    const void *from; // a line of each column
    dim_t pitch;      // bytes from column to column of `from`
    void *to;
    dim_t vectors; // of sixteen columns each
    dim_t mask;    // of the line's dwords that exist; others become 0
};

/// Transposes the dwords of [N,K] nibbles.
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
