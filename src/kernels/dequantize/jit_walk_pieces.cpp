// The walk from piece to piece. It counts: dividing took a fifth of the time of
// small pieces.

#include "kernels/dequantize/jit_walk.hpp"

#include <algorithm>

namespace dnnl_dequant {

void jit_walk_t::run_pieces(dim_t begin, dim_t end) {
    if (begin >= end) return;
    go_to(begin);
    for (dim_t piece = begin;;) {
        if (inside_) run_piece();
        if (++piece == end) return;
        next_piece();
    }
}

// Orders the loops over blocks, fastest first. For a transposed source whose
// columns are in a page each, the rows' blocks follow each other, else the
// columns'.
const std::array<int, 3> &jit_walk_t::fastest_first() const {
    static constexpr std::array<int, 3> dense_rows {
            of_cols, of_rows, of_panels},
            by_pages {of_cols, of_panels, of_rows},
            by_columns {of_rows, of_panels, of_cols};
    if (plan_.path != jit_src_path_t::transposed) return dense_rows;
    const bool by_rows = plan_.tile_rows > 0;
    return by_rows || (plan_.panels && shares_pages()) ? by_pages : by_columns;
}

// True if each page of src holds columns of two neighbouring panels, or each
// page of dst rows of both. The narrower panels decide about dst whatever the
// panel: wide ones of 16 bits fill a page, and the other order is no faster for
// them.
bool jit_walk_t::shares_pages() const {
    constexpr dim_t page = 4096;
    const jit_strides_t &src = plan_.strides[0];
    const dim_t stride = plan_.src_group() > 0 ? src.outer_col : src.col;
    return stride * src_bits_ / 8 < page || jit_panel_cols * dst_bytes_ < page;
}

void jit_walk_t::go_to(dim_t piece) {
    const auto split = [&piece](dim_t count) {
        const dim_t at = piece % count;
        piece /= count;
        return at;
    };
    for (const int each : fastest_first()) {
        auto &counter = counters_[static_cast<size_t>(each)];
        counter.at = split(counter.count);
    }
    for (size_t o = 0; o < problem_.operands.size(); ++o)
        base_[o] = problem_.operands[o].offset;
    for (size_t i = plan_.outer.size(); i-- > 0;) {
        const int l = plan_.outer[i];
        index_[l] = split(problem_.loops[static_cast<size_t>(l)].extent);
        move_along(l, index_[l]);
    }
    enter_outer_point();
}

void jit_walk_t::next_piece() {
    for (const int each : fastest_first()) {
        auto &counter = counters_[static_cast<size_t>(each)];
        if (++counter.at < counter.count) return;
        counter.at = 0;
    }
    next_outer_point();
}

void jit_walk_t::next_outer_point() {
    for (size_t i = plan_.outer.size(); i-- > 0;) {
        const int l = plan_.outer[i];
        const dim_t extent = problem_.loops[static_cast<size_t>(l)].extent;
        move_along(l, 1);
        if (++index_[l] < extent) break;
        move_along(l, -extent);
        index_[l] = 0;
    }
    enter_outer_point();
}

void jit_walk_t::move_along(int loop, dim_t iterations) {
    for (size_t o = 0; o < problem_.operands.size(); ++o)
        base_[o] += iterations
                    * problem_.operands[o].strides[static_cast<size_t>(loop)];
}

void jit_walk_t::enter_outer_point() {
    staged_.rows = 0;
    inside_ = true;
    for (const int l : plan_.outer)
        inside_ = inside_ && index_[l] < extent(l, {});
}

void jit_walk_t::run_piece() {
    const auto &rows = plan_.rows, &cols = plan_.cols;
    const dim_t row = counters_[of_rows].at * rows.block;
    const dim_t col = counters_[of_cols].at * cols.block;
    panel_group_ = counters_[of_panels].at * plan_.panel_groups;
    panel_count_
            = std::min(plan_.panel_groups, plan_.panel_extent - panel_group_);
    const dim_t end = std::min(row + rows.block, rows.extent());
    const dim_t step = plan_.rows_at_once();
    for (dim_t r = row; r < end; r += step)
        run_rows(r, std::min(r + step, end), col,
                std::min(cols.block, cols.extent() - col));
}

} // namespace dnnl_dequant
