// Panels of several groups: a call takes those of one row as its rows, so that
// the row of dst is written from end to end.

#if defined(__x86_64__)

#include "kernels/dequantize/jit_walk.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t f32_bytes = 4;

} // namespace

// Row after row, the groups of each side by side.
bool jit_walk_t::stage_panel_operand(
        const staging_t &staging, const rect_t &rect) {
    const int o = staging.operand;
    const dim_t row_stride = plan_.strides[static_cast<size_t>(o)].row;
    const dim_t rows = staging.by_row ? rect.rows : 1;
    const dim_t first
            = element(o, rect) + panel_group_ * plan_.panel_strides[o];
    bool wide = false;
    for (dim_t r = 0; r < rows; ++r)
        wide |= staging.stage(staging.to + r * panel_count_, buffers_[o],
                first + r * row_stride, plan_.panel_strides[o], panel_count_);
    return wide;
}

void jit_walk_t::run_panel(const rect_t &rect) {
    staged_.rows = 0;
    stage(rect);
    const int o = static_cast<int>(problem_.operands.size()) - 1;
    const dim_t dst_pitch
            = plan_.strides[static_cast<size_t>(o)].row * dst_bytes_;
    auto *dst = static_cast<char *>(buffers_[o])
                + (element(o, rect) + rect.col
                          + panel_group_ * plan_.panel_strides[o])
                          * dst_bytes_;
    const dim_t tile_row
            = rect.outer_row * plan_.rows.inner_extent + rect.row - tile_row_;
    for (dim_t r = 0; r < rect.rows; ++r)
        run_panel_row(rect, r, tile_row + r, dst + r * dst_pitch);
}

void jit_walk_t::run_panel_row(
        const rect_t &rect, dim_t r, dim_t tile_row, char *dst) {
    using k = jit_rows_t;
    const auto o = problem_.operands.size() - 1;
    const bool nibbles = src_bits_ == 4;
    const auto half = nibbles && tile_row % 2 != 0 ? k::row_of_tile_high
                                                   : k::row_of_tile;
    const dim_t pitch = tile_pitch_ * tile_bytes_;
    const auto shifted = [&](const float *params, bool by_row) {
        return params + (by_row ? r * panel_count_ : 0);
    };
    jit_row_args_t args;
    args.src = tile_ + (nibbles ? tile_row / 2 : tile_row) * pitch;
    args.dst = dst;
    args.scales = shifted(scratch_.scales, plan_.scales_rows);
    args.zps = shifted(scratch_.zps, plan_.zps_rows);
    args.zps_high = shifted(scratch_.zps_high, plan_.zps_rows);
    args.rows = panel_count_;
    args.cols = rect.cols;
    args.src_pitch = rect.cols * tile_bytes_;
    args.dst_pitch = plan_.panel_strides[o] * dst_bytes_;
    args.scales_pitch = args.zps_pitch = f32_bytes;
    args.src_ahead = pitch;
    args.dst_ahead = plan_.strides[o].row * dst_bytes_;
    (*kernel_.row_kernels_[half][two_part_])(args);
}

} // namespace dnnl_dequant

#endif
