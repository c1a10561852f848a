// Panels of several groups: a call takes those of one row as its rows, so that
// the row of dst is written from end to end.

#include "kernels/dequantize/jit_walk.hpp"

#include <algorithm>

namespace dnnl_dequant {

namespace {

constexpr dim_t f32_bytes = 4;

} // namespace

// Row after row, the groups of each side by side; at once where they stand so.
bool jit_walk_t::stage_panel_operand(
        const staging_t &staging, const rect_t &rect) {
    const int o = staging.operand;
    const dim_t row_stride = plan_.strides[static_cast<size_t>(o)].row;
    const dim_t rows = staging.by_row ? rect.rows : 1;
    const dim_t first
            = element(o, rect) + panel_group_ * plan_.panel_strides[o];
    if (plan_.panel_strides[o] == 1
            && (rows == 1 || row_stride == panel_count_))
        return stage_run(staging, first, staging.to, rows * panel_count_);
    bool wide = false;
    for (dim_t r = 0; r < rows; ++r)
        wide |= staging.stage(staging.to + r * panel_count_, buffers_[o],
                first + r * row_stride, plan_.panel_strides[o], panel_count_);
    return wide;
}

// From memory row after row, which is called for ahead.
void jit_walk_t::run_panel(const rect_t &rect) {
    staged_.rows = 0;
    stage(rect);
    if (plan_.panels) {
        for (dim_t r = 0; r < rect.rows; ++r)
            run_panel_rows(rect, r, 1, 0);
        return;
    }
    const int other = src_bits_ == 4 ? 1 : 0;
    for (dim_t r = 0; r < std::min<dim_t>(rect.rows, 1 + other); ++r)
        run_panel_rows(rect, r, (rect.rows - r + other) >> other, other);
}

// `count` rows, or every other one, from `first` on: each a group to the
// kernel.
void jit_walk_t::run_panel_rows(
        const rect_t &rect, dim_t first, dim_t count, int other) {
    using k = jit_rows_t;
    const auto o = problem_.operands.size() - 1;
    const int nibbles = src_bits_ == 4 ? 1 : 0;
    const dim_t tile_row = rect.outer_row * plan_.rows.inner_extent + rect.row
                           - tile_row_ + first;
    const auto half
            = (tile_row & nibbles) != 0 ? k::row_of_tile_high : k::row_of_tile;
    const dim_t pitch = tile_pitch_ * tile_bytes_;
    const dim_t dst_pitch = plan_.strides[o].row * dst_bytes_;
    const auto begin_of = [&](const float *params, bool by_row) {
        return params + (by_row ? first * panel_count_ : 0);
    };
    const auto jump_of = [&](bool by_row) {
        return (by_row ? other : -1) * panel_count_ * f32_bytes;
    };
    jit_row_args_t args;
    args.src = tile_ + (tile_row >> nibbles) * pitch;
    args.dst = static_cast<char *>(buffers_[o])
               + (element(static_cast<int>(o), rect) + rect.col
                         + panel_group_ * plan_.panel_strides[o])
                         * dst_bytes_
               + first * dst_pitch;
    args.scales = begin_of(scratch_.scales, plan_.scales_rows);
    args.zps = begin_of(scratch_.zps, plan_.zps_rows);
    args.zps_high = begin_of(scratch_.zps_high, plan_.zps_rows);
    args.rows = count * panel_count_;
    args.cols = rect.cols;
    args.group_rows = panel_count_;
    args.src_pitch = rect.cols * tile_bytes_;
    args.dst_pitch = plan_.panel_strides[o] * dst_bytes_;
    args.scales_pitch = args.zps_pitch = f32_bytes;
    args.src_jump = pitch - panel_count_ * args.src_pitch;
    args.dst_jump = (dst_pitch << other) - panel_count_ * args.dst_pitch;
    args.scales_jump = jump_of(plan_.scales_rows);
    args.zps_jump = jump_of(plan_.zps_rows);
    args.src_ahead = pitch;
    args.dst_ahead = dst_pitch;
    (*kernel_.row_kernels_[half][two_part_])(args);
}

} // namespace dnnl_dequant
