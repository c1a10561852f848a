#ifndef KERNELS_MATMUL_JIT_PAIR_ROWS_HPP
#define KERNELS_MATMUL_JIT_PAIR_ROWS_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// A row-major tile of bf16, and where its pairs go: rows of dwords.
struct jit_pair_rows_args_t {
    const void *rows;
    void *pairs;
    dim_t pitch; // bytes from row to row of `rows`
    dim_t count; // of pairs
    dim_t rest;  // not 0: a last row is paired with zeros
};

/// Interleaves pairs of rows of a bf16 tile on AVX-512: a dword has a column's
/// values of two rows, the first in its lower half.
using jit_pair_rows_t = jit_function_t<const jit_pair_rows_args_t>;

/// @param cols The columns of a tile, a multiple of 32.
result_t make_jit_pair_rows(dim_t cols, jit_pair_rows_t &pair_rows);

} // namespace dnnl_dequant

#endif
