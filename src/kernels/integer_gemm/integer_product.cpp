// This file lays out what a product needs, and multiplies by streams.

#include "kernels/integer_gemm/integer_product.hpp"

#include <algorithm>

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64;
// The most panels that are unpacked together.
constexpr dim_t most_block_panels = 16;

dim_t whole_lines(dim_t bytes) {
    return round_up(bytes, line);
}

template <typename element_t>
dim_t bytes_of_all(size_t count) {
    return whole_lines(static_cast<dim_t>(count * sizeof(element_t)));
}

// If a group were not cut, all rows of a panel would be unpacked before those
// of the next one, a line of each row.
bool cuts_group(const integer_plan_t &plan) {
    return can_cut_group(plan.format) && plan.groups.size() == 1
           && !plan.repacked && plan.depth > plan.block_depth;
}

const uint8_t *at(const void *base, dim_t bytes) {
    return static_cast<const uint8_t *>(base) + bytes;
}

} // namespace

integer_product_t::integer_product_t(integer_plan_t plan)
    : plan_(std::move(plan))
    , cuts_group_(cuts_group(plan_)) {
    place_groups();
    place_memory();
}

void integer_product_t::place_groups() {
    const dim_t most = cuts_group_ ? plan_.block_depth : plan_.depth;
    dim_t depth = 0; // of the last block
    for (const auto &group : plan_.groups) {
        for (dim_t k = 0; k < group.size; k += most) {
            const dim_t size = std::min(most, group.size - k);
            const dim_t whole = whole_units(plan_.format, size);
            if (blocks_.empty() || depth + whole > plan_.block_depth
                    || blocks_.back().count == most_block_groups) {
                blocks_.push_back({pieces_.size(), 0});
                depth = 0;
            }
            pieces_.push_back({group.begin + k, size, row_end_ + k, depth,
                    whole / k4_depth});
            ++blocks_.back().count;
            depth += whole;
            deepest_ = std::max(deepest_, depth);
        }
        const dim_t whole = whole_units(plan_.format, group.size);
        places_.push_back(plan_.stream ? group.begin : row_end_);
        k4_blocks_.push_back(whole / k4_depth);
        row_end_ += whole;
    }
    if (plan_.stream)
        row_end_ = round_up(plan_.depth, dim_t(integer_stream_t::src_unit));
}

void integer_product_t::place_memory() {
    const size_t groups = plan_.groups.size();
    const dim_t rows = plan_.rows;
    // A pitch that is a power of two would put all rows into the same sets of a
    // cache.
    row_bytes_ = whole_lines(row_end_) + line;
    rows_at_ = plan_.quantize ? whole_lines(rows * plan_.depth) : 0;
    interleaved_at_ = rows_at_ + rows * row_bytes_;
    groups_at_ = interleaved_at_
                 + (plan_.format.is_packed ? whole_lines(rows * row_end_) : 0);
    shared_bytes_
            = groups_at_
              + bytes_of_all<row_group_t>(static_cast<size_t>(rows) * groups);
    panel_bytes_ = deepest_ * integer_panel;
    size_t most_pieces = 0;
    for (const piece_block_t &block : blocks_)
        most_pieces = std::max(most_pieces, block.count);
    columns_bytes_ = bytes_of_all<integer_columns_t>(
            is_by_column() ? groups : most_pieces);
    part_panels_ = std::clamp<dim_t>(
            plan_.most_part_bytes / panel_bytes_, 1, most_block_panels);
}

// Unpacked panels, and behind them what is known of their columns.
dim_t integer_product_t::own_bytes(dim_t block_cols) const {
    if (plan_.repacked) return 0;
    if (plan_.stream)
        return whole_lines(
                plan_.stream->own_bytes(plan_.stream_rows, block_cols));
    if (plan_.transposing)
        return columns_bytes_
               + 2 * plan_.transposing->ahead() * integer_squares_t::bytes;
    const dim_t block_panels = div_up(block_cols, integer_panel);
    return part_panels_ * panel_bytes_
           + (keeps_columns() ? block_panels : part_panels_) * columns_bytes_;
}

// Describes the rows of src and of c, from the first group on.
integer_tile_t integer_product_t::make_tile(
        const block_t &block, const void *shared) const {
    const bool is_packed = plan_.format.is_packed;
    integer_tile_t tile;
    tile.a_pitch = is_packed ? k4_depth : row_bytes_;
    tile.a_k4_pitch = is_packed ? k4_depth * plan_.rows : k4_depth;
    tile.a = reinterpret_cast<const int8_t *>(
            at(shared, (is_packed ? interleaved_at_ : rows_at_)
                               + block.first_row * tile.a_pitch));
    tile.rows = block.rows;
    tile.row_groups_pitch = static_cast<dim_t>(plan_.groups.size());
    tile.row_groups
            = reinterpret_cast<const row_group_t *>(at(shared, groups_at_))
              + block.first_row * tile.row_groups_pitch;
    tile.c = block.c;
    tile.c_pitch = block.c_pitch;
    return tile;
}

void integer_product_t::run_stream(void *const *buffers, const block_t &block,
        const void *shared, void *own) const {
    for (dim_t r = 0; r < block.rows; ++r)
        std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
    const integer_tile_t tile = make_tile(block, shared);
    integer_stream_t::block_t rows = {};
    rows.a = reinterpret_cast<const uint8_t *>(tile.a);
    rows.a_pitch = tile.a_pitch;
    rows.rows = tile.rows;
    rows.row_groups = tile.row_groups;
    rows.row_groups_pitch = tile.row_groups_pitch;
    rows.first_col = block.first_col;
    rows.cols = block.cols;
    rows.c = tile.c;
    rows.c_pitch = tile.c_pitch;
    rows.own = own;
    plan_.stream->run(buffers[0], buffers[plan_.weights_scales.operand],
            buffers[plan_.weights_zps.operand], rows);
}

} // namespace dnnl_dequant
