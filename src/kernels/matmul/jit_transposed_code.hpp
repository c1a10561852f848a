#ifndef KERNELS_MATMUL_JIT_TRANSPOSED_CODE_HPP
#define KERNELS_MATMUL_JIT_TRANSPOSED_CODE_HPP

#include "kernels/jit/generator.hpp"
#include "kernels/matmul/gemv.hpp"
#include "kernels/matmul/nibble_step.hpp"

namespace dnnl_dequant {

/// Rows that one piece of code does, at most.
constexpr int most_transposed_rows = 4;
/// Each sum is so many partial ones, side by side.
constexpr dim_t transposed_parts = 16;

/// Some rows by a tile of weights, as make_jit_transpose_nibbles() leaves it.
struct jit_transposed_args_t {
    const void *tile;
    const void *a;             // arranged
    const float *scales, *zps; // of the tile's columns
    float *sums;               // rows x columns x parts, added to
    dim_t a_pitch, sums_pitch; // bytes
    // Rows of weights that are transposed later, and how far they have been
    // asked for: in the row that begins and ends there, `ahead_pitch` bytes
    // from the next.
    const char *ahead_row, *ahead, *ahead_end;
    dim_t ahead_pitch;
};

using jit_transposed_code_t = jit_function_t<jit_transposed_args_t>;

/// What a vector of a tile's nibbles becomes.
nibble_step_t transposed_step_of(const gemv_weights_t &weights);

/// AVX-512; up to most_transposed_rows.
result_t make_jit_transposed_code(
        const gemv_weights_t &weights, int rows, jit_transposed_code_t &code);

} // namespace dnnl_dequant

#endif
