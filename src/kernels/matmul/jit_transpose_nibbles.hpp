#ifndef KERNELS_MATMUL_JIT_TRANSPOSE_NIBBLES_HPP
#define KERNELS_MATMUL_JIT_TRANSPOSE_NIBBLES_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Rows, and columns, of a tile of 4-bit weights.
constexpr dim_t transposed_tile = 128;
constexpr dim_t transposed_bytes = transposed_tile * transposed_tile / 2;
/// Of 32 rows: vector i has those of columns i, i + 32, i + 64 and i + 96, a
/// quarter each.
constexpr dim_t transposed_part_bytes = transposed_bytes / 4;

struct jit_transpose_nibbles_args_t {
    const void *from;
    dim_t pitch; // bytes from row to row of `from`
    void *to;
};

/// Transposes a tile of nibbles, whose columns lie side by side, by parts.
using jit_transpose_nibbles_t
        = jit_function_t<const jit_transpose_nibbles_args_t>;

/// AVX-512.
result_t make_jit_transpose_nibbles(jit_transpose_nibbles_t &transpose);

} // namespace dnnl_dequant

#endif
