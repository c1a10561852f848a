// Panels of several groups: a call takes those of one row as its rows, so that
// the row of dst is written from end to end.

#include "kernels/dequantize/jit_walk.hpp"

#include <algorithm>

#include "kernels/dequantize/jit_pack_dwords.hpp"
#include "kernels/dequantize/jit_stream.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t f32_bytes = 4, line = 64;

} // namespace

// Stages row after row, the groups of each next to each other.
bool jit_walk_t::stage_panel_operand(
        const staging_t &staging, const rect_t &rect) {
    const int o = staging.operand;
    const dim_t row_stride = plan_.strides[static_cast<size_t>(o)].row;
    const dim_t rows = staging.by_row ? rect.rows : 1;
    const dim_t first
            = element(o, rect) + panel_group_ * plan_.panel_strides[o];
    if (plan_.panel_strides[o] == 1)
        return stage_runs(staging, first, row_stride, rows, panel_count_);
    if (rows > 1 && row_stride == 1)
        return stage_across(staging, first, rows,
                {plan_.panel_strides[o], panel_count_, panel_count_});
    bool wide = false;
    for (dim_t r = 0; r < rows; ++r)
        wide |= staging.stage(staging.to + r * panel_count_, buffers_[o],
                first + r * row_stride, plan_.panel_strides[o], panel_count_);
    return wide;
}

// Past the caches at once where every group's row is whole lines, else by way
// of the bounce buffer.
void jit_walk_t::run_panel(const rect_t &rect) {
    staged_.rows = 0;
    stage(rect);
    const auto o = problem_.operands.size() - 1;
    const dim_t group_bytes = plan_.panel_strides[o] * dst_bytes_;
    const dim_t row_bytes = panel_count_ * group_bytes;
    const dim_t dst_pitch = plan_.strides[o].row * dst_bytes_;
    rect_t whole = rect;
    whole.col += panel_group_ * plan_.panel_strides[o];
    auto *dst = static_cast<char *>(buffers_[o])
                + (element(static_cast<int>(o), rect) + whole.col) * dst_bytes_;
    streams_at_once_ = can_stream_at_once(whole) && group_bytes % line == 0;
    if (!plan_.streaming || streams_at_once_)
        return run_panel_chunk(rect, 0, rect.rows, dst, dst_pitch);
    const dim_t most
            = in_dwords(std::max<dim_t>(jit_bounce_bytes / row_bytes, 1));
    for (dim_t r = 0, count = 0; r < rect.rows; r += count) {
        count = std::min(most, rect.rows - r);
        run_panel_chunk(rect, r, count, scratch_.bounce, row_bytes);
        for (dim_t c = 0; c < count; ++c)
            stream_copy(dst + (r + c) * dst_pitch,
                    scratch_.bounce + c * row_bytes, row_bytes);
    }
}

// From memory row after row, which is called for ahead.
void jit_walk_t::run_panel_chunk(const rect_t &rect, dim_t first, dim_t count,
        char *dst, dim_t dst_pitch) {
    if (plan_.dword_tiles)
        return run_panel_dwords(rect, {first, count, 0}, dst, dst_pitch);
    if (plan_.panels) {
        for (dim_t r = 0; r < count; ++r)
            run_panel_rows(
                    rect, {first + r, 1, 0}, dst + r * dst_pitch, dst_pitch);
        return;
    }
    const int other = src_bits_ == 4 ? 1 : 0;
    for (dim_t r = 0; r < std::min<dim_t>(count, 1 + other); ++r)
        run_panel_rows(rect, {first + r, (count - r + other) >> other, other},
                dst + r * dst_pitch, dst_pitch);
}

// Each row is a group to the kernel.
void jit_walk_t::run_panel_rows(const rect_t &rect, const panel_rows_t &rows,
        char *dst, dim_t dst_pitch) {
    using k = jit_rows_t;
    const auto o = problem_.operands.size() - 1;
    const int nibbles = src_bits_ == 4 ? 1 : 0;
    const dim_t tile_row = rect.outer_row * plan_.rows.inner_extent + rect.row
                           - tile_row_ + rows.first;
    const auto half
            = (tile_row & nibbles) != 0 ? k::row_of_tile_high : k::row_of_tile;
    const dim_t pitch = tile_pitch_ * tile_bytes_;
    const auto begin_of = [&](const float *params, bool by_row) {
        return params + (by_row ? rows.first * panel_count_ : 0);
    };
    const auto jump_of = [&](bool by_row) {
        return (by_row ? rows.other : -1) * panel_count_ * f32_bytes;
    };
    jit_row_args_t args;
    args.src = tile_ + (tile_row >> nibbles) * pitch;
    args.dst = dst;
    args.scales = begin_of(scratch_.scales, plan_.scales_rows);
    args.zps = begin_of(scratch_.zps, plan_.zps_rows);
    args.reciprocals = nullptr;
    args.rows = rows.count * panel_count_;
    args.cols = rect.cols;
    args.group_rows = panel_count_;
    args.src_pitch = rect.cols * tile_bytes_;
    args.dst_pitch = plan_.panel_strides[o] * dst_bytes_;
    args.scales_pitch = args.zps_pitch = f32_bytes;
    args.src_jump = pitch - panel_count_ * args.src_pitch;
    args.dst_jump = (dst_pitch << rows.other) - panel_count_ * args.dst_pitch;
    args.scales_jump = jump_of(plan_.scales_rows);
    args.zps_jump = jump_of(plan_.zps_rows);
    args.src_ahead = pitch;
    args.dst_ahead = dst_pitch;
    const auto streaming = streams_at_once_ ? k::streaming : 0;
    (*kernel_.row_kernels_[static_cast<size_t>(half + streaming)][two_part_])(
            args);
}

// All groups of a row before the next one.
void jit_walk_t::run_panel_dwords(const rect_t &rect, const panel_rows_t &rows,
        char *dst, dim_t dst_pitch) {
    using k = jit_rows_t;
    const dim_t tile_row = rect.outer_row * plan_.rows.inner_extent + rect.row
                           - tile_row_ + rows.first;
    const auto begin_of = [&](const float *params, bool by_row) {
        return params + (by_row ? rows.first * panel_count_ : 0);
    };
    const auto pitch_of = [&](bool by_row) {
        return by_row ? panel_count_ * f32_bytes : 0;
    };
    jit_row_args_t args;
    args.src = dwords_of(tile_row);
    args.dst = dst;
    args.scales = begin_of(scratch_.scales, plan_.scales_rows);
    args.zps = begin_of(scratch_.zps, plan_.zps_rows);
    args.rows = rows.count;
    args.cols = rect.cols;
    args.group_rows = panel_count_;
    args.src_pitch = dword_pitch();
    args.dst_pitch = dst_pitch;
    args.scales_pitch = pitch_of(plan_.scales_rows);
    args.zps_pitch = pitch_of(plan_.zps_rows);
    args.scales_jump = f32_bytes;
    args.zps_jump = plan_.params.zps < 0 ? 0 : f32_bytes;
    args.dst_ahead = dst_pitch * dword_rows(src_bits_);
    const auto streaming = streams_at_once_ ? k::streaming : 0;
    (*kernel_.row_kernels_[static_cast<size_t>(k::row_of_tile + streaming)]
                          [two_part_])(args);
}

} // namespace dnnl_dequant
