#ifndef KERNELS_DEQUANTIZE_JIT_PLAN_HPP
#define KERNELS_DEQUANTIZE_JIT_PLAN_HPP

#include <algorithm>
#include <array>
#include <vector>

#include "base/status.hpp"
#include "kernels/dequantize/jit_params.hpp"
#include "kernels/dequantize/jit_params_blocks.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// Sizes of what a thread keeps on its stack, see jit_scratch_t.
constexpr dim_t jit_tile_bytes = 16 * 1024;
constexpr dim_t jit_bounce_bytes = 16 * 1024;

/// Sizes of a tall tile: columns, and the most bytes of src in each.
constexpr dim_t jit_tall_tile_cols = 256, jit_tall_tile_rows = 512;

/// A tile of more columns is wide. Lines of its columns may lie 256 bytes
/// apart, and would meet in a quarter of the sets of an L1 of eight ways.
constexpr dim_t jit_narrow_cols = 128;

/// Sizes of a panel: columns, or as many as make a page of dst; then bytes of
/// src's columns. The gap keeps rows of the tile out of each other's cache
/// sets.
constexpr dim_t jit_panel_cols = 1024, jit_wide_panel_cols = 2048;
constexpr dim_t jit_panel_rows = 128, jit_panel_gap = 64;

/// One or two loops that together are the rows, or the columns, of the
/// rectangles that row kernels work on. An index counts both as if no last
/// group were short: `outer * inner_extent + inner`.
struct jit_axis_t {
    int outer = -1, inner = -1; // loops; -1: none, of one iteration
    dim_t outer_extent = 1, inner_extent = 1;
    dim_t block = 1; // indices of one piece

    dim_t extent() const { return outer_extent * inner_extent; }
    dim_t blocks() const { return div_up(extent(), block); }
    bool has(int loop) const {
        return loop >= 0 && (loop == outer || loop == inner);
    }
};

/// An operand's strides along the two axes.
struct jit_strides_t {
    dim_t outer_row = 0, row = 0, outer_col = 0, col = 0;
};

/// How src is brought into rows that are dense along the columns.
enum class jit_src_path_t {
    direct,     // it is so, each row beginning at a byte
    unaligned,  // it is so, but some rows begin within a byte
    transposed, // it is dense along the rows instead
    gathered,   // it is dense along neither
};

/// The operands that are parameters of rows or columns, and how they become
/// what row kernels read.
struct jit_parameters_t {
    int scales = -1, zps = -1; // operands; -1: none
    stage_t stage_scales = nullptr;
    zps_stages_t stages_of_zps {};
    // Stages many at once; null if they are staged one by one.
    stage_blocks_t blocks_of_scales = nullptr, blocks_of_zps = nullptr;
    stage_blocks_t blocks_of_biased_zps = nullptr;
    /// A row kernel divides by the scales, whose reciprocals it has. Its second
    /// form is for scales that are not ordinary or zero points that are not
    /// near, as their stages say.
    bool divides = false;
    // The first of the row kernels is for scales of which none is small.
    bool checks_scales = false;
    // Row kernels cut the end of a row off by masks, not one by one.
    bool masks_tails = false;
    /// A vector of f32 fills a cache line.
    bool stores_lines = true;
};

/// The way to walk the nest of a problem.
///
/// Columns are the innermost loop. If that alone would make rows too short, and
/// dst composes, the next loop joins it; src composes too, or is transposed.
/// Rows are the next loops, or those along which src is dense, of which the
/// outer one may stand inside the other. All other loops are outer. A piece is
/// a block of rows by a block of columns at one point of the outer loops. A
/// work item is a few successive pieces.
///
/// A transposed source beyond L2 is taken by panels instead. Panels are tiles
/// so wide that rows of dst are written in long stretches, by ordinary stores
/// after a prefetch of the next row. Groups may make the columns few. Then a
/// panel, or a tile in the caches, holds several outer iterations next to each
/// other, and a call takes them as its rows.
struct jit_plan_t {
    jit_axis_t rows, cols;
    std::vector<int> outer;
    std::array<jit_strides_t, 4> strides; // one an operand
    jit_src_path_t path = jit_src_path_t::direct;

    jit_parameters_t params;
    bool scales_vary = false, zps_vary = false; // along the columns
    bool scales_rows = false, zps_rows = false; // along the inner row loop
    bool outer_rows = false; // some of them, along the outer row loop
    // Columns that share what varies: it is staged once for them all, and row
    // kernels repeat it, by a table unless this is a power of two.
    dim_t group_cols = 1;

    bool panels = false;
    dim_t tall_tile_rows = 0; // bytes of src in each column; 0: none are tall
    dim_t tile_rows = 0;      // of a block, packed at once; 0: all
    int panel_loop = -1;      // -1: none, the columns are enough
    dim_t panel_extent = 1, panel_groups = 1; // of it all, of a panel
    dim_t panel_strides[4] = {};

    dim_t pieces = 0, pieces_per_unit = 1;
    bool prefetches_params = false; // dst is beyond L2, and so may they be
    bool streaming = false;
    // Rows that are written from end to end too, where they are computed.
    bool streams_rows = false;
    // The same of results of 4 bits, which `streaming` does not include.
    bool streams_nibbles = false;
    // The src of row kernels of a quantize that store past the caches.
    bool prefetches_far_src = true;
    uint32_t stream_ahead = 0; // see jit_row_desc_t
    bool prefetching = false;  // both ends of a direct path are in memory
    bool prefetches_dst_into_l2 = false; // by one row a call; else into L1
    dim_t fixed_cols = 0;    // of every rectangle; 0: of different ones
    uint32_t block_rows = 1; // see jit_row_desc_t
    // A call takes the rows of several iterations of the outer row loop, which
    // are groups of them with parameters of their own.
    bool joins_groups = false;
    bool dword_tiles = false; // see jit_pack_dwords.hpp; the kernel's choice
    // A call takes two rows of nibbles from each byte; the last row of all may
    // be the only one of its bytes.
    bool both_halves = false, has_odd_row = false;

    /// Row kernels may store past the caches themselves.
    bool streams_at_once() const {
        return streaming
               && (path == jit_src_path_t::transposed || streams_rows);
    }
    /// Columns of four rows that go by way of the bounce buffer, if rows share
    /// the parameters that vary; else of one row.
    dim_t bounced_cols(dim_t dst_bytes) const {
        const dim_t all = jit_bounce_bytes / dst_bytes;
        return params_vary() && !joins_cols() ? all / 4 : all;
    }
    /// Columns of src after which it takes another stride, that of the outer
    /// column loop; 0: all columns have the same stride.
    dim_t src_group() const {
        const jit_strides_t &src = strides[0];
        return cols.outer >= 0 && src.outer_col != src.col * cols.inner_extent
                       ? cols.inner_extent
                       : 0;
    }
    /// Too wide for the next lines of its source to be kept.
    bool is_wide_tile() const {
        return panels || cols.block * panel_groups > jit_narrow_cols;
    }
    /// Rows of a tile, or of another block.
    dim_t rows_at_once() const {
        return tile_rows > 0 ? tile_rows : rows.block;
    }
    /// Rows of src go by way of a tile.
    bool is_packed() const {
        return path == jit_src_path_t::transposed
               || path == jit_src_path_t::gathered;
    }
    /// Columns of a group are joined, and rows not.
    bool joins_cols() const { return group_cols > 1 && block_rows == 1; }
    bool params_vary() const { return scales_vary || zps_vary; }
    bool has_group_table() const {
        return (group_cols & (group_cols - 1)) != 0;
    }
    dim_t panel_blocks() const { return div_up(panel_extent, panel_groups); }
    /// Elements from one row of a tile to the next.
    dim_t tile_pitch(dim_t tile_bytes) const {
        return cols.block * panel_groups
               + (panels ? jit_panel_gap / tile_bytes : 0);
    }
    /// All (inner) rows have the same parameters along the columns.
    bool rows_share() const {
        return !(scales_vary && scales_rows) && !(zps_vary && zps_rows);
    }
};

/// Fails where there are too many loops or dst is not dense along the last.
result_t make_jit_plan(const problem_t &problem, const jit_parameters_t &params,
        jit_plan_t &plan);

} // namespace dnnl_dequant

#endif
