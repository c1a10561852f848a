#ifndef KERNELS_MATMUL_JIT_PAIR_ROWS_HPP
#define KERNELS_MATMUL_JIT_PAIR_ROWS_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/matmul/gemm.hpp"

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

/// Pairs all of b in scratch memory, one panel of `cols` columns behind the
/// other: gemm_t::arrange_b().
void pair_panels(const jit_pair_rows_t &pair_rows, dim_t cols,
        const gemm_block_t &block) noexcept;
/// The bytes of a row of such a panel, and of so many columns and depths.
constexpr dim_t paired_row_bytes(dim_t cols) {
    return cols * 4;
}
inline dim_t paired_bytes(dim_t cols, dim_t depth) {
    return div_up(depth, dim_t(2)) * paired_row_bytes(cols);
}

} // namespace dnnl_dequant

#endif
