#ifndef KERNELS_ELEMENTWISE_JIT_CHAIN_PLAN_HPP
#define KERNELS_ELEMENTWISE_JIT_CHAIN_PLAN_HPP

#include <array>
#include <vector>

#include "base/status.hpp"
#include "kernels/dequantize/jit_params.hpp"
#include "kernels/elementwise/jit_chain_kernel.hpp"

namespace dnnl_dequant {

/// Sizes of what a thread keeps on its stack, see chain_memory_t.
constexpr dim_t chain_staged_floats = 4096;
constexpr dim_t chain_tile_bytes = 24 * 1024;
/// A tile has at least so many bits of each column, a cache line, if there are
/// rows enough.
constexpr dim_t chain_tile_line_bits = 512;
/// A panel's columns; bytes of one column in its tiles; and the gap, in
/// elements, that keeps the rows of a tile from meeting in few sets of a cache.
constexpr dim_t chain_panel_cols = 1024, chain_panel_rows = 128,
                chain_panel_gap = 64;
constexpr dim_t chain_panel_bytes
        = chain_panel_rows * (chain_panel_cols + chain_panel_gap);
constexpr dim_t chain_bounce_bytes = 8 * 1024;

/// A row of a tile serves one row, or all rows that are the same iteration of
/// one of their two loops.
enum class tile_row_t { row, inner, outer };

/// How one operand reaches the ports of generated code.
struct chain_feed_t {
    int operand = 0;
    chain_input_t input;
    bool tiled = false;     // dense along the rows: transposed to a tile first
    bool in_groups = false; // tiled: columns of two loops that do not compose
    tile_row_t tile_row = tile_row_t::row;
    bool foreseen = false;   // called for before the tiles are made
    bool by_row = false;     // it varies along the rows of a call
    bool reciprocal = false; // prepared as 1 / x, once for many
    dim_t outer_row = 0, row = 0, outer_col = 0, col = 0; // strides
    // The stages of its one or two ports, if it is not direct.
    std::array<stage_t, 2> stages {};
    std::array<dim_t, 2> slices {}; // staged: floats from the scratch's first
    dim_t tile = 0;                 // tiled: bytes from the tiles' first
};

/// How the nest of a problem is walked.
///
/// Columns are the innermost loop, with the next one where that alone is
/// short. An operand that is tiled need not go on from one to the other. Rows
/// are another loop. If what is tiled goes on along a second loop, and the
/// first is short, rows are those of both, counted together. A call of
/// generated code has rows along one of the two only. All other loops are outer
/// ones. A piece is a block of rows by a block of columns at one point of the
/// outer loops; a unit of work is some pieces that follow each other.
///
/// Transposed to a dst beyond L2, pieces are panels: tiles so wide that
/// rows of dst are long, written by ordinary stores after a call for the next
/// row.
struct chain_plan_t {
    // Loops; -1: one iteration.
    int outer_rows = -1, rows = -1, outer_cols = -1, cols = -1;
    dim_t outer_row_extent = 1, row_extent = 1;
    dim_t outer_col_extent = 1, col_extent = 1;
    std::vector<int> outer;
    bool rows_of_tiles = false; // some operand is dense along the rows instead
    bool calls_along_outer = false; // of the loops of rows
    // If there are two loops of columns, each iteration of the outer one has a
    // call of its own, in which groups' values are constants.
    bool by_group = false;

    dim_t row_block = 1, col_block = 1;
    chain_feed_t dst; // of which only strides count

    std::vector<chain_feed_t> feeds; // one an operand that is read
    chain_desc_t desc;
    bool has_tiles = false, panels = false;
    dim_t tile_pitch = 0; // in elements
    bool constants_by_row = false, staged_by_row = false;
    dim_t slice_floats = 0; // of one staged port

    bool packs = false; // dst's elements are less than a byte
    bool streaming = false;
    dim_t pieces = 0, pieces_per_unit = 1;
    // Points of the outer loops that come before a panel's next columns.
    dim_t points_beside = 1;

    /// True if some rows are staged, or leave by way of a buffer.
    bool needs_memory() const;
    /// True if the operand goes on from one iteration of the outer loop of rows
    /// to the next.
    bool rows_run_on(const chain_feed_t &feed) const {
        return outer_rows < 0 || feed.outer_row == feed.row * row_extent;
    }
    /// From a row of a call to the next: in rows, and in an operand's elements.
    dim_t row_step() const { return calls_along_outer ? row_extent : 1; }
    dim_t call_row(const chain_feed_t &feed) const {
        return calls_along_outer ? feed.outer_row : feed.row;
    }
    dim_t all_rows() const { return row_extent * outer_row_extent; }
    dim_t row_blocks() const { return div_up(all_rows(), row_block); }
    dim_t all_cols() const { return col_extent * outer_col_extent; }
    dim_t col_blocks() const { return div_up(all_cols(), col_block); }
};

/// The plan's loops and extents.
void choose_chain_loops(const problem_t &problem, chain_plan_t &plan);

/// Its sizes, once all else is known: panels, streaming, blocks, tiles, pieces.
void choose_chain_blocks(const problem_t &problem, chain_plan_t &plan);

/// Fails where a type or a stride is not for generated code. The problem has
/// passed check_elementwise().
result_t make_chain_plan(const problem_t &problem, chain_plan_t &plan);

} // namespace dnnl_dequant

#endif
