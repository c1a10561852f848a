// This file lays out what a product needs, and multiplies by streams.

#include "kernels/integer_gemm/integer_product.hpp"

#include <algorithm>

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64, k4_block = 4;

dim_t whole_lines(dim_t bytes) {
    return round_up(bytes, line);
}

const uint8_t *at(const void *base, dim_t bytes) {
    return static_cast<const uint8_t *>(base) + bytes;
}

} // namespace

integer_product_t::integer_product_t(integer_plan_t plan)
    : plan_(std::move(plan)) {
    for (const auto &group : plan_.groups) {
        places_.push_back(plan_.stream ? group.begin : row_end_);
        const dim_t whole = whole_units(plan_.format, group.size);
        k4_blocks_.push_back(whole / 4);
        add_pieces(group);
        row_end_ += whole;
    }
    if (plan_.stream)
        row_end_ = round_up(plan_.depth, dim_t(integer_stream_t::src_unit));
    part_panels_ = std::clamp<dim_t>(
            plan_.most_part_bytes / panel_bytes(), 1, most_block_panels);
}

// Otherwise all rows of a panel would be unpacked before those of the next one,
// a line of each row.
bool integer_product_t::cuts_group() const {
    return can_cut_group(plan_.format) && plan_.groups.size() == 1
           && !plan_.repacked && plan_.depth > plan_.block_depth;
}

void integer_product_t::add_pieces(const integer_plan_t::group_t &group) {
    const dim_t most = cuts_group() ? plan_.block_depth : group.size;
    for (dim_t k = 0; k < group.size; k += most) {
        const dim_t size = std::min(most, group.size - k);
        const dim_t whole = whole_units(plan_.format, size);
        if (blocks_.empty() || block_depth_ + whole > plan_.block_depth
                || blocks_.back().count == most_block_groups) {
            blocks_.push_back({pieces_.size(), 0});
            block_depth_ = 0;
        }
        pieces_.push_back({group.begin + k, size, row_end_ + k});
        ++blocks_.back().count;
        block_depth_ += whole;
        deepest_ = std::max(deepest_, block_depth_);
        most_pieces_ = std::max(most_pieces_, blocks_.back().count);
    }
}

dim_t integer_product_t::row_bytes() const {
    // A pitch that is a power of two would put all rows into the same sets of a
    // cache.
    return whole_lines(row_end_) + line;
}

dim_t integer_product_t::rows_at() const {
    return plan_.quantize ? whole_lines(plan_.rows * plan_.depth) : 0;
}

dim_t integer_product_t::interleaved_at() const {
    return rows_at() + plan_.rows * row_bytes();
}

dim_t integer_product_t::groups_at() const {
    return interleaved_at()
           + (plan_.format.is_packed ? whole_lines(plan_.rows * row_end_) : 0);
}

dim_t integer_product_t::shared_bytes() const {
    const auto groups = static_cast<dim_t>(plan_.groups.size());
    return whole_lines(
            groups_at()
            + plan_.rows * groups * static_cast<dim_t>(sizeof(row_group_t)));
}

dim_t integer_product_t::columns_bytes() const {
    const size_t groups = is_by_column() ? plan_.groups.size() : most_pieces_;
    return whole_lines(static_cast<dim_t>(groups * sizeof(integer_columns_t)));
}

// Unpacked panels, and behind them what is known of their columns.
dim_t integer_product_t::own_bytes(dim_t block_cols) const {
    if (plan_.repacked) return 0;
    if (plan_.stream)
        return whole_lines(
                plan_.stream->own_bytes(plan_.stream_rows, block_cols));
    const dim_t block_panels = div_up(block_cols, integer_panel);
    return part_panels_ * panel_bytes()
           + (keeps_columns() ? block_panels : part_panels_) * columns_bytes();
}

// Describes the rows of src and of c, from the first group on.
integer_tile_t integer_product_t::make_tile(
        const block_t &block, const void *shared) const {
    const bool is_packed = plan_.format.is_packed;
    integer_tile_t tile;
    tile.a_pitch = is_packed ? k4_block : row_bytes();
    tile.a_k4_pitch = is_packed ? k4_block * plan_.rows : k4_block;
    tile.a = reinterpret_cast<const int8_t *>(
            at(shared, (is_packed ? interleaved_at() : rows_at())
                               + block.first_row * tile.a_pitch));
    tile.rows = block.rows;
    tile.row_groups_pitch = static_cast<dim_t>(plan_.groups.size());
    tile.row_groups
            = reinterpret_cast<const row_group_t *>(at(shared, groups_at()))
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
    plan_.stream->run(buffers[0], buffers[plan_.weights_scales.operand],
            buffers[plan_.weights_zps.operand],
            {reinterpret_cast<const uint8_t *>(tile.a), tile.a_pitch, tile.rows,
                    tile.row_groups, tile.row_groups_pitch, block.first_col,
                    block.cols, tile.c, tile.c_pitch, own});
}

} // namespace dnnl_dequant
