#ifndef LOWER_MATMUL_SIZES_HPP
#define LOWER_MATMUL_SIZES_HPP

#include <algorithm>

#include "base/isa.hpp"
#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/machine.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

// How large the parts of a product are, and up to how many rows what serves.
namespace dnnl_dequant {

// Vectors are as many floats at most, and so are panels of the product.
constexpr dim_t panel = 64;
// Floats between rows of src in scratch memory besides its own: rows of a power
// of two would meet in the same sets of the cache.
constexpr dim_t src_pad = 16;
// Rows whose sums fit a core's second cache with a block of weights.
constexpr dim_t most_rows = 512;
// Up to so many rows the weights are what costs.
constexpr dim_t few_rows = 8;

struct block_sizes_t {
    dim_t depth, cols;
};
// Most depth and columns of a block. Wide blocks serve few rows of [K,N]
// weights, which are read in long stretches. The others leave room for src and
// the sums in L2. With more rows, more of the time goes to sums, which are read
// and written once a block of depth. AVX2 machines have half the L2.
//
// 4096 x 4096 u4 in groups of 128, one thread, ms:
//                                  32 x 1024    512 x 64
//   Cascade Lake, 1 row, [K,N]     5.6          11
//   Cascade Lake, 1 row, [N,K]     20           4.7
//                                  256 x 256    512 x 128    256 x 128
//   Zen 3, 32 rows, [K,N]          15.0         15.3         14.2
//   Zen 3, 32 rows, [N,K]          16.0         15.4         14.1
//   Zen 3, 512 rows, [K,N]                      188          183
//   Zen 3, 512 rows, [N,K]                      190
// Blocks in cache on a Cascade Lake, as a part of the rate of multiply-adds
// alone:
//   512 rows                        256 x 256: 0.85 to 0.88  512 x 128: 0.92
//   32 rows                         256 x 256 is faster by 6 %
constexpr block_sizes_t wide_blocks = {32, 1024}, deep_blocks = {256, 256},
                        deepest_blocks = {512, 128}, small_blocks = {256, 128};
constexpr dim_t many_rows = 128;
// Blocks of bf16 that our own code multiplies, by pairs or by tiles: they and
// their pairs fit L2 beside src. kernels/matmul/MEASURED.md has other sizes.
inline block_sizes_t most_bf16_block_sizes(dim_t rows, bool nk, isa_t isa) {
    if (!has(isa, isa_amx_bf16)) return {1024, 128};
    if (nk) return {2048, 128};
    return rows < many_rows ? block_sizes_t {128, 1024}
                            : block_sizes_t {512, 256};
}
// From so many rows on, blocks by tiles of AMX are faster than skinny GEMMs
// that have no tiles.
constexpr dim_t least_tile_rows_of_nk = 8, least_tile_rows_of_kn = 9;
// The same by [K,N] weights of 2 bits, of a shape that tiles do not look up. A
// Xeon with AMX, 4096 x 4096, ms as skinny GEMM and in blocks:
//   1 row 1.45, 2.9   8 rows 3.9, 3.0
// The rows between them were not measured.
constexpr dim_t least_tile_rows_of_kn_two_bits = 5;
// From so many rows of bf16 on, tiles multiply weights of 8 bits. A Xeon with
// AMX, one thread, 4096 x 4096 s8 [K,N], ms in pairs and by tiles:
//   2 rows 2.12, 2.19  3 rows 2.41, 2.17
constexpr dim_t least_tile_rows_of_bytes = 3;
// From so many rows of f32 on, tiles that multiply three terms of bf16 are
// faster than multiply-adds. 4096 x 4096 u4, one thread of a Xeon with AMX, ms
// by multiply-adds and by tiles:
//   [N,K]   by 128: 4 rows 1.06, 1.07  5 rows 1.22, 1.08
//           by 32:  6 rows 1.58, 1.53  7 rows 2.24, 1.55
//   [K,N]   by 128: 3 rows 1.18, 1.23  4 rows 1.46, 1.21
//           by 32:  5 rows 1.86, 1.94  6 rows 2.07, 1.95
//   s8      [N,K], a scale a column: 6 rows 1.83, 2.05  8 rows 2.4, 2.05
//           [K,N], a scale a column: 5 rows 2.02, 2.23  6 rows 2.21, 2.07
//           [K,N], by 32:            6 rows 2.42, 2.62  8 rows 2.81, 2.49
inline dim_t least_terms_rows(int bits, bool by_column, dim_t group) {
    if (bits == 8) return by_column ? 8 : group < 128 ? 7 : 6;
    return (by_column ? 5 : 4) + (group < 128 ? 2 : 0);
}
// True if integers of src are multiplied as bf16, by the kernels of terms. u8
// by 4096 x 4096, one thread of a Xeon with AMX, ms as integers and as bf16:
//               [N,K] u4 by 128   by 32        [K,N] u4 by 128   by 32
//   4 rows      1.23, 1.10        1.59, 1.51   1.15, 1.21        1.53, 2.05
//   5 rows      1.18, 1.25        2.36, 1.48   1.41, 1.30        1.90, 1.70
//   8 rows      1.29, 1.21        2.53, 1.50   1.48, 1.23        2.15, 1.77
//   32 rows     1.86, 1.54        3.47, 2.37   1.90, 1.69        3.60, 2.70
//   128 rows    3.89, 5.00        8.95, 8.29   4.37, 6.22        9.31, 8.20
//   512 rows    15.0, 16.3        32.4, 25.4   13.5, 17.0        31.3, 24.4
//               [N,K] s8 by 128   by 32        [K,N] s8 by 128   by 32
//   8 rows      1.83, 1.73        3.02, 2.14   1.97, 1.98        2.53, 2.58
//   32 rows     2.64, 2.08        3.77, 2.62   2.32, 2.63        3.89, 3.29
//   128 rows    5.75, 6.76        11.5, 8.84   5.01, 7.54        9.24, 10.0
//   512 rows    15.2, 19.1        33.0, 27.2   14.4, 18.2        31.6, 26.5
// Tiles of integers are good at deeper groups.
constexpr dim_t least_rows_of_bf16_integers = 5;
inline bool multiplies_integers_as_bf16(
        dim_t rows, const skinny_weights_t &weights) {
    constexpr dim_t least_of_kn_bytes = 9, few = 32, many = 256, deepest = 256;
    if (weights.groups() == 1 || weights.group > deepest) return false;
    const bool has_short_groups = weights.group < 128;
    if (bits_of(weights.type) == 8 && !weights.by_column)
        return has_short_groups
               && ((rows >= least_of_kn_bytes && rows <= few) || rows >= many);
    return rows >= least_rows_of_bf16_integers
           && (has_short_groups || rows <= few);
}
// Kernels without terms take so many rows at most (kernels/skinny_gemm).
constexpr dim_t most_rows_without_terms = 32;
// Up to so many rows the terms stay in L2.
constexpr dim_t few_terms_rows = 32;
// True if pairs of bf16 are multiplied, where src and weights may be rounded.
inline bool multiplies_pairs(isa_t isa, dim_t rows, bool nk_nibbles) {
    const machine_policy_t &policy = this_machine().policy;
    return has(isa, isa_avx512_core_bf16)
           && rows <= (nk_nibbles ? policy.most_pair_rows_of_nk_nibbles
                                  : policy.most_pair_rows);
}
// A block that stays [N,K] has a line of bf16 more between its columns. With a
// power of two between them they would meet in the same sets of the cache.
constexpr dim_t nk_pad = 32;
// Blocks of 16 bits, for oneDNN's primitive: a MiB, half of the L2 of CPUs that
// have AMX. kernels/matmul/MEASURED.md has other sizes. A tile has sixteen
// rows, and fewer rows do not fill it.
constexpr block_sizes_t low_precision_blocks = {2048, 256};
constexpr dim_t least_narrow_rows = 16;

// Blocks of columns whose packed weights are read in turns, page by page, and
// units of work that a thread has at least where there are that many.
constexpr dim_t most_cols_together = 4, units_per_thread = 4;

inline block_sizes_t most_block_sizes(dim_t rows, bool by_columns, isa_t isa) {
    if (rows <= few_rows && by_columns) return wide_blocks;
    if (!has(isa, isa_avx512_core)) return small_blocks;
    return rows < many_rows ? deep_blocks : deepest_blocks;
}

// Rows of weights up to this long are read as streams. This many sums, and
// their parts, stay in L2.
//   4096 x 11008 u4 [K,N], one thread of a Cascade Lake with a neighbour at
//   work, time over the limit, best of three rounds:
//     u8    blocks of 4096 columns: 2.1  whole rows: 1.2
//     f32   blocks of 4096 columns: 2.0  whole rows: 1.6
//   Eight rows of f32 by 4096 x 4096, ms:
//     8192 sums: 8.5  12288 sums: 5.3  24576 sums: 7.7
constexpr dim_t most_skinny_cols = 12288, most_skinny_sums = 12288;
// Sums in many parts fill half of L2.
constexpr dim_t most_transposed_sums = 4096;
// Sums of products whose weights are looked up for tiles of AMX. One thread of
// a Xeon with AMX, [K,N] u4 by bf16, ms, and time over reading:
//   32 rows, 4096 x 4096     32768 sums: 2.7   65536: 2.5   131072: 2.3
//   one row, 4096 x 11008    blocks of 3712 columns: 4.3, 3.5   5504: 4.6, 3.3
//                            whole rows: 4.4, 2.6
constexpr dim_t most_tile_sums = 131072;
// Columns whose scales and zero points stay in a core's first cache. Terms of
// more than few_terms_rows are read again for each block of columns. A Xeon
// with AMX, u4 by 128, one thread, weights that no cache has, ms:
//   16 rows of f32   32 columns: 1.10  64: 1.11  128: 1.25
//   8 rows of u8     32 columns: 0.87  64: 0.86  128: 1.0  256: 1.4
//   32 rows of u8    32 columns: 1.11  64: 1.18  128: 1.3  256: 1.5
//   the same by 32   32 columns: 1.77  64: 2.1   128: 2.1  256: 2.4
inline dim_t most_k_lanes_cols(
        dim_t rows, const skinny_weights_t &weights, bool are_terms) {
    if (are_terms && rows > few_terms_rows)
        return weights.are_nibbles() ? 256 : 128;
    return weights.tiles == skinny_tiles_t::integers ? 32 : 64;
}
// Columns whose weights stay in L2 as tiles, which many rows multiply.
constexpr dim_t most_cols_of_many_rows = 256;

// Up to so many rows, kernels that read weights as streams are faster than
// those that multiply integers in blocks. u8 rows by 4096 x 4096 u4, one
// thread, ms as streams and in blocks; AVX-VNNI was measured in AVX-512's
// encoding on a Zen 4:
//                         [K,N]                       [N,K]
//   Cascade Lake, VNNI    6 rows: 2.15, 2.2           4 rows: 1.6, 1.6
//                         8 rows: 3.8, 2.3            5 rows: 1.8, 1.6
//                                                     6 rows: 1.95, 1.65
//   Zen 3, AVX2           3 rows: 1.4, 1.7            4 rows: 1.2, 1.45
//                         4 rows: 1.6 to 1.8, 1.8     5 rows: 1.6, 1.55
//                         5 rows: 2.1, 2.0
//   AVX-VNNI              3 rows: 1.07, 1.45          2 rows: 1.17, 1.05
//                         4 rows: 1.23, 1.33          4 rows: 1.60, 0.95
//                         6 rows: 1.82, 1.71
inline dim_t few_quantized_rows(isa_t isa, bool by_column) {
    if (has(isa, isa_avx512_core_vnni)) return by_column ? 4 : 6;
    return by_column && has(isa, isa_avx_vnni) ? 1 : 4;
}

// Up to so many rows nibbles are split while they are multiplied, by as many
// rows as there are registers for. u8 rows by 4096 x 4096 u4, one thread of a
// Cascade Lake, ms split before and split then:
//   [N,K]   8 rows: 2.05, 1.83   32 rows: 4.8, 4.15    64 rows: 7.3, 7.4
//   [K,N]   8 rows: 2.8, 2.35    16 rows: 3.5, 3.35    32 rows: 5.0, 5.4
constexpr dim_t most_packed_rows = 12, most_packed_rows_by_column = 48;

// True if the code for packed weights runs several times, for up to
// most_packed_rows each, and the first run keeps the sums of weights.
inline bool keeps_sums_of_weights(dim_t rows, const integer_format_t &format) {
    return format.is_packed && format.is_by_column() && format.has_src_zps
           && rows > most_packed_rows;
}

// True if [N,K] nibbles are transposed while others are multiplied, if the
// CPU's policy says so.
inline bool transposes_nibbles(dim_t rows, const integer_format_t &format) {
    return format.has_two_depths() && format.is_packed
           && rows <= this_machine().policy.most_transposing_rows;
}

// From so many rows on, tiles of AMX multiply integers. With fewer, packed
// nibbles of [N,K] weights or a stream are faster:
// kernels/integer_gemm/MEASURED.md.
inline bool multiplies_integer_tiles(
        isa_t isa, dim_t rows, const integer_format_t &format) {
    const bool by_column = format.is_by_column();
    const dim_t least_rows = !by_column                     ? 7
                             : bits_of(format.weights) == 8 ? 5
                                                            : 16;
    return has(isa, isa_amx_bf16) && rows >= least_rows;
}
inline bool has_tiles(const integer_format_t &format) {
    return format.k4_chunk > 1;
}

// True if two panels of [K,N] weights are unpacked at once. Then few rows need
// no packed ones. More rows gain nothing: kernels/integer_gemm/MEASURED.md.
inline bool unpacks_two_panels(
        isa_t isa, dim_t rows, const integer_format_t &format) {
    constexpr dim_t most = 128;
    return has(isa, isa_avx512_core_vbmi) && rows <= most
           && !format.is_by_column()
           && this_machine().policy.unpacks_two_panels;
}

// The depth of integers that is done together. Src and weights of so much depth
// are in L1 for tiles of few rows, in L2 for those of many.
inline dim_t integer_block_depth(dim_t rows, const integer_format_t &format) {
    const bool by_column = format.is_by_column();
    if (has_tiles(format))
        return by_column ? 1024 : rows < many_rows ? 256 : 512;
    return format.is_packed && !by_column ? 128 : 256;
}

// Rows of [K,N] weights that are unpacked of one panel before those of the next
// one. Few rows are read in long stretches, and the L1 TLB has few entries.
// 4096 x 4096 u4 unpack in 2.1 ms by 128 rows, in 1.4 by 64. With tiles the
// panels are more, ms of 32 rows of u8 by u4 and by s8, a Xeon with AMX:
//   8 rows: 2.16, 4.3   16 rows: 1.95, 3.4   32 rows: 2.1, 3.9
inline dim_t integer_k_chunk(const integer_format_t &format) {
    if (format.unpacks_two) return 128; // ms: 0.41, by 64 0.43
    return has_tiles(format) ? 16 : 64;
}

// The most bytes that weights take when unpacked: part of L2, or of L1 if
// products come in 16 bits. Columns of [N,K] weights are one panel, except for
// tiles. u8 rows by 4096 x 4096 u4, one thread of a Zen 3 with AVX2, ms by 128
// KiB and by 32 KiB:
//   8 rows: 2.47, 2.29   32 rows: 6.2, 5.9
inline dim_t most_part_bytes(isa_t isa, const integer_format_t &format) {
    if (has_tiles(format)) return 1024 * 1024;
    if (format.is_by_column()) return 0;
    return (has(isa, isa_avx512_core_vnni) ? 128 : 32) * 1024;
}

// Up to so many rows, repacked weights are faster than weights that are
// unpacked each time. u8 rows by 4096 x 4096 u4 [K,N], one thread of a Cascade
// Lake, ms unpacked and repacked:
//   16 rows: 3.5, 2.6   32 rows: 4.8, 3.7
//   48 rows: 8.9, 5.4   64 rows: 8.2, 9.2
// Tiles of AMX multiply more rows, and all of [N,K] bytes, as fast. A Xeon with
// AMX, ms by tiles and repacked, rows of u8 by u4:
//                  8 rows       12 rows      16 rows
//   [N,K] by 128   1.21, 0.89   1.20, 1.06   1.33, 1.36
//   [N,K] by 32    1.50, 1.12   1.50, 1.25   1.55, 1.84
//   [K,N] by 128   1.23, 1.09   1.25, 1.23   1.28, 1.59
inline dim_t most_repacked_rows(isa_t isa, dim_t bits, bool by_column) {
    if (!has(isa, isa_amx_bf16)) return 48;
    return by_column && bits == 8 ? 4 : 12;
}
// Columns that are done together: their sums fit L1, and they are worth a call.
inline dim_t most_repacked_cols(dim_t rows) {
    constexpr dim_t most_sums = 4096, least = 4 * integer_panel;
    return std::max(most_sums / std::max<dim_t>(rows, 1) / integer_panel
                            * integer_panel,
            least);
}

// Columns of integers that are done together: their sums stay in a core's
// second cache. Rows of weights are read as streams, columns a panel after the
// other, or two for many rows.
inline dim_t most_integer_cols(dim_t rows, const integer_format_t &format) {
    if (format.is_by_column())
        return has_tiles(format) && rows >= many_rows ? 2 * integer_panel
                                                      : integer_panel;
    const dim_t most_sums = (has_tiles(format)                 ? 128
                                    : rows <= most_packed_rows ? 48
                                                               : 32)
                            * 1024;
    const dim_t most_cols = format.unpacks_two ? 512 : 4096;
    return std::clamp(
            most_sums / std::max<dim_t>(rows, 1), integer_panel, most_cols);
}

} // namespace dnnl_dequant

#endif
