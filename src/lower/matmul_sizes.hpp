#ifndef LOWER_MATMUL_SIZES_HPP
#define LOWER_MATMUL_SIZES_HPP

#include <algorithm>

#include "base/isa.hpp"
#include "kernels/matmul/integer_kernel.hpp"

// How large the parts of a product are, and up to how many rows what serves.
namespace dnnl_dequant {

// Vectors are as many floats at most, and so are panels of the product.
constexpr dim_t panel = 64;
// Floats between rows of src in scratch memory beside its own: rows of a power
// of two would meet in the same sets of the cache.
constexpr dim_t src_pad = 16;
// Rows whose sums fit a core's second cache beside a block of weights.
constexpr dim_t most_rows = 512;
// Up to so many rows the weights are what costs.
constexpr dim_t few_rows = 8;

struct block_sizes_t {
    dim_t depth, cols;
};
// Blocks that are read in long stretches, for few rows, where columns lie side
// by side; and those that leave room for src and the sums in a core's second
// cache. 4096 x 4096 u4 in groups of 128, one thread of a Cascade Lake, 1 row,
// ms: columns side by side, 32 x 1024 take 5.6 and 512 x 64 11; depth side by
// side, 32 x 1024 take 20 and 512 x 64 4.7. The more rows, the more of the time
// goes to sums that are read and written again, once a block of depth: 512 rows
// by such blocks in cache, 256 x 256 reach 0.85 to 0.88 of what multiply-adds
// alone would, 512 x 128 0.92; of 32 rows the first are faster by 6 in 100.
// Less than AVX-512 goes with half the second cache: on a Zen 3, by row and
// column, of 32 rows 256 x 256 take 15.0 and 16.0 ms, 512 x 128 15.3 and 15.4,
// 256 x 128 14.2 and 14.1; of 512 rows 512 x 128 188 and 190, 256 x 128 183.
constexpr block_sizes_t wide_blocks = {32, 1024}, deep_blocks = {256, 256},
                        deepest_blocks = {512, 128}, small_blocks = {256, 128};
constexpr dim_t many_rows = 128;
// Blocks of bf16 that our own code multiplies: they and their pairs fit a
// core's second cache beside src. MEASURED.md has the others.
constexpr block_sizes_t pair_blocks = {1024, 128};
// Of 16 bits, for oneDNN's primitive: a MiB, half of the second cache of CPUs
// that have AMX; kernels/matmul/MEASURED.md has what other sizes
// took. A tile has sixteen rows, and with fewer is not full.
constexpr block_sizes_t narrow_blocks = {2048, 256};
constexpr dim_t least_narrow_rows = 16;

// Blocks of columns whose packed weights are read in turns, page by page, and
// units of work that a thread has at least where there are that many.
constexpr dim_t most_cols_together = 4, units_per_thread = 4;

inline block_sizes_t most_block_sizes(dim_t rows, bool by_columns, isa_t isa) {
    if (rows <= few_rows && by_columns) return wide_blocks;
    if (!has(isa, isa_avx512_core)) return small_blocks;
    return rows < many_rows ? deep_blocks : deepest_blocks;
}

// Rows of weights this long are read as streams; as many sums, and their parts,
// stay in a core's second cache. 4096 x 11008 u4 by row, one thread of a
// Cascade Lake with a neighbour at work, over the limit, best of three rounds:
// blocks of 4096 columns u8 2.1, f32 2.0; whole rows 1.2 and 1.6. Eight rows of
// f32 by 4096 x 4096: 8192 sums 8.5 ms, 12288 5.3, 24576 7.7.
constexpr dim_t most_gemv_cols = 12288, most_gemv_sums = 12288;
// Of sums in many parts, as many as half a core's second cache holds.
constexpr dim_t most_transposed_sums = 4096;
// Columns whose scales and zero points stay in a core's first cache.
constexpr dim_t most_dot_cols = 64;

// Up to so many rows what reads weights as streams is faster than what
// multiplies integers in blocks. u8 rows by 4096 x 4096 u4, one thread of a
// Cascade Lake, ms: by row 6 rows 2.15 and 2.2, 8 rows 3.8 and 2.3; by column 4
// rows 1.6 and 1.6, 5 rows 1.8 and 1.6, 6 rows 1.95 and 1.65. A Zen 3 with
// AVX2: by row 3 rows 1.4 and 1.7, 4 rows 1.6 to 1.8 and 1.8, 5 rows 2.1 and
// 2.0; by column 4 rows 1.2 and 1.45, 5 rows 1.6 and 1.55. AVX-VNNI's
// instructions, in AVX-512's encoding on a Zen 4: by row 3 rows 1.07 and 1.45,
// 4 rows 1.23 and 1.33, 6 rows 1.82 and 1.71; by column 2 rows 1.17 and 1.05, 4
// rows 1.60 and 0.95.
inline dim_t few_quantized_rows(isa_t isa, bool by_column) {
    if (has(isa, isa_avx512_core_vnni)) return by_column ? 4 : 6;
    return by_column && has(isa, isa_avx_vnni) ? 1 : 4;
}

// Up to so many rows nibbles are parted while they are multiplied, by as many
// rows as there are registers for. u8 rows by 4096 x 4096 u4, one thread of a
// Cascade Lake, ms, parted before and then: by column 8 rows 2.05 and 1.83, 32
// rows 4.8 and 4.15, 64 rows 7.3 and 7.4; by row 8 rows 2.8 and 2.35, 16 rows
// 3.5 and 3.35, 32 rows 5.0 and 5.4.
constexpr dim_t most_packed_rows = 12, most_packed_rows_by_column = 48;

// What weights stored by row take as bytes, at most: part of a core's second
// cache, of its first where products come in 16 bits. u8 rows by 4096 x 4096
// u4, one thread of a Zen 3 with AVX2, ms, by 128 KiB and by 32: 8 rows 2.47
// and 2.29, 32 rows 6.2 and 5.9.
inline dim_t most_part_bytes(isa_t isa) {
    return (has(isa, isa_avx512_core_vnni) ? 128 : 32) * 1024;
}

// Up to so many rows weights that were repacked are faster than what unpacks
// them time and again. u8 rows by 4096 x 4096 u4 by row, one thread of a
// Cascade Lake, ms, before and repacked: 16 rows 3.5 and 2.6, 32 rows 4.8 and
// 3.7, 48 rows 8.9 and 5.4, 64 rows 8.2 and 9.2.
constexpr dim_t most_repacked_rows = 48;
// Of their columns as many are done together as have sums in a core's first
// cache, and no fewer than are worth a call.
inline dim_t most_repacked_cols(dim_t rows) {
    constexpr dim_t most_sums = 4096, least = 4 * integer_panel;
    return std::max(most_sums / std::max<dim_t>(rows, 1) / integer_panel
                            * integer_panel,
            least);
}

// Columns of integers that are done together: their sums stay in a core's
// second cache; rows of weights are read as streams, columns a panel after the
// other.
inline dim_t most_integer_cols(dim_t rows, bool by_column) {
    const dim_t most_sums = (rows <= most_packed_rows ? 48 : 32) * 1024;
    constexpr dim_t most_cols = 4096;
    return std::clamp(most_sums / std::max<dim_t>(rows, 1), integer_panel,
            by_column ? integer_panel : most_cols);
}

} // namespace dnnl_dequant

#endif
