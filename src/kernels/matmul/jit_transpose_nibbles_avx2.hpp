#ifndef KERNELS_MATMUL_JIT_TRANSPOSE_NIBBLES_AVX2_HPP
#define KERNELS_MATMUL_JIT_TRANSPOSE_NIBBLES_AVX2_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Of a tile of 4-bit weights: columns, rows that are done together, rows at
/// most, and bytes from column to column once it is transposed.
constexpr dim_t transpose_avx2_cols = 64, transpose_avx2_step = 32,
                transpose_avx2_rows = 512,
                transpose_avx2_pitch = transpose_avx2_rows / 2;

/// Transposes nibbles whose columns lie side by side.
struct jit_transpose_nibbles_avx2_args_t {
    const void *from;
    void *to;
    dim_t pitch; // bytes from row to row
    dim_t steps;
    dim_t ahead; // bytes from a row to what is asked for meanwhile
};

using jit_transpose_nibbles_avx2_t
        = jit_function_t<const jit_transpose_nibbles_avx2_args_t>;

result_t make_jit_transpose_nibbles_avx2(
        jit_transpose_nibbles_avx2_t &transpose);

} // namespace dnnl_dequant

#endif
