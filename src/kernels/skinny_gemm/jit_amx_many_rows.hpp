#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_MANY_ROWS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_MANY_ROWS_HPP

#include "kernels/skinny_gemm/jit_amx_lookup.hpp"

namespace dnnl_dequant {

/// The tiles of a part of the depth, which are made before they are multiplied.
/// 32 columns have eight tiles for each 128 of the depth, and the next columns
/// follow. [N,K] weights have the tiles of sixteen columns side by side, others
/// those of 32 of the depth.
struct amx_tiles_part_t {
    dim_t k, depth;
    float *tiles;
    float *room; // for copies of weights
};

struct amx_many_rows_args_t;

/// Multiplies more rows than skinny_gemm_t::most_rows_in_turns by the tiles of
/// AMX. Tiles of weights are made once, in L2, and multiplied by all rows.
///
///   for each 512 of depth:
///     make the tiles of all columns
///     for each 32 rows: for each 128 or 256 of depth: for each 32 columns:
///       multiply tiles; scale the sums of the groups before
class amx_many_rows_t {
public:
    /// The depth of the tiles that are in cache.
    static constexpr dim_t most_depth = 512;
    static constexpr int nr = 2 * amx_tile_rows;

    result_t make(const skinny_weights_t &weights, dim_t rows,
            const amx_layout_t &layout);

    /// Returns the floats of a column in a block's scratch memory: its sums,
    /// and its weights of `most_depth` in tiles. The room that making tiles
    /// needs comes after those of all columns.
    static dim_t column_floats(dim_t rows) {
        return round_up(rows, amx_most_rows) + most_depth / 2;
    }

    /// A block's sums are in its scratch memory, those of 32 rows after the
    /// other.
    static void zero_sums(const skinny_gemm_t::block_t &block) noexcept;
    /// Returns the part whose depth begins with `k`. Its tiles are to be made.
    amx_tiles_part_t part_of(
            const skinny_gemm_t::block_t &block, dim_t k) const noexcept;
    /// Adds the products of a part.
    void multiply(const skinny_gemm_t::block_t &block, void *const *buffers,
            const amx_tiles_part_t &part) const noexcept;

private:
    void multiply_rows(const skinny_gemm_t::block_t &block,
            const amx_tiles_part_t &part, dim_t row, dim_t at,
            dim_t depth) const noexcept;
    void prefetch_weights(const skinny_gemm_t::block_t &block,
            void *const *buffers, dim_t k, dim_t share,
            dim_t shares) const noexcept;

    amx_code_t<amx_many_rows_args_t> code_;
    skinny_weights_t weights_;
    int terms_ = 1;
};

} // namespace dnnl_dequant

#endif
