#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_MANY_ROWS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_MANY_ROWS_HPP

#include "kernels/skinny_gemm/jit_amx_lookup.hpp"
#include "kernels/skinny_gemm/jit_amx_store.hpp"

namespace dnnl_dequant {

/// How tiles of weights lie that are made before they are multiplied. 32
/// columns have eight of them for each 128 of the depth, and the next columns
/// follow.
struct amx_tiles_layout_t {
    bool are_columns; // a line of a tile is a column; else a pair of the depth
    dim_t part_bytes; // from each 32 of the depth to the next 32
    dim_t tile_bytes; // from sixteen columns to the next sixteen
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
    static constexpr dim_t nr = 2 * amx_tile_rows;

    result_t make(const skinny_weights_t &weights, dim_t rows, int terms,
            const amx_tiles_layout_t &layout, bool parameters_by_column);

    /// Returns the floats of a column in a block's scratch memory: its sums,
    /// and its weights of `most_depth` in tiles. The room that making tiles
    /// needs comes after those of all columns.
    static dim_t column_floats(dim_t rows) {
        return round_up(rows, amx_most_rows) + most_depth / 2;
    }

    /// Computes a block's sums.
    /// @param make_tiles Called with an amx_tiles_part_t.
    template <typename make_tiles_t>
    void run(const skinny_gemm_t::block_t &block, void *const *buffers,
            make_tiles_t &&make_tiles) const noexcept {
        zero_sums(block);
        for (dim_t k = 0; k < weights_.depth; k += most_depth) {
            const dim_t depth = std::min(weights_.depth - k, most_depth);
            make_tiles(amx_tiles_part_t {
                    k, depth, tiles_of(block), room_of(block)});
            multiply(block, buffers, k, depth);
        }
        store_sums(block);
    }

private:
    static float *tiles_of(const skinny_gemm_t::block_t &block) {
        return block.partial + round_up(block.rows, amx_most_rows) * block.cols;
    }
    static float *room_of(const skinny_gemm_t::block_t &block) {
        return block.partial + column_floats(block.rows) * block.cols;
    }
    static void zero_sums(const skinny_gemm_t::block_t &block) noexcept;
    void multiply(const skinny_gemm_t::block_t &block, void *const *buffers,
            dim_t k, dim_t depth) const noexcept;
    void multiply_rows(const skinny_gemm_t::block_t &block, dim_t b, dim_t k,
            dim_t at, dim_t depth) const noexcept;
    void store_sums(const skinny_gemm_t::block_t &block) const noexcept;
    void prefetch_weights(const skinny_gemm_t::block_t &block,
            void *const *buffers, dim_t k, dim_t part,
            dim_t parts) const noexcept;

    amx_code_t<amx_many_rows_args_t> code_;
    amx_store_t store_; // of sums by column
    skinny_weights_t weights_;
    int terms_ = 1;
    amx_tiles_layout_t layout_ {};
    bool parameters_by_column_ = false;
};

} // namespace dnnl_dequant

#endif
