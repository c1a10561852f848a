// The walk's way to src: rows as they are, or a tile of them.

#include "kernels/dequantize/jit_walk.hpp"

#include <algorithm>

#include "kernels/dequantize/jit_pack.hpp"
#include "kernels/dequantize/jit_pack_dwords.hpp"
#include "kernels/dequantize/jit_pack_wide.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t cols_ahead = 16;

} // namespace

void jit_walk_t::pack_transposed_rows(
        dim_t begin, dim_t end, const rect_t &cols) {
    const dim_t rows = std::min(end, axis_end(plan_.rows, cols)) - begin;
    const dim_t in_group
            = std::min(cols.cols, axis_end(plan_.cols, cols) - cols.col);
    if (rows <= 0 || in_group <= 0) return;
    const jit_strides_t &strides = plan_.strides[0];
    tile_row_ = begin;
    // In elements.
    dim_t first = base_[0] + begin + panel_group_ * plan_.panel_strides[0];
    transposed_src_t src {nullptr, strides.col, rows, in_group * panel_count_};
    if (const dim_t group = plan_.src_group(); group > 0) {
        src.group = group;
        src.group_stride = strides.outer_col;
        src.first = cols.col % group;
        first += cols.col / group * strides.outer_col;
    } else {
        first += cols.col * strides.col;
    }
    src.data
            = static_cast<const uint8_t *>(buffers_[0]) + first * src_bits_ / 8;
    const dim_t ahead = bytes_ahead_of(src, begin + rows);
    if (src_bits_ > 8) {
        pack_transposed_wide(tile_, tile_pitch_, src, src_bits_, ahead);
        return;
    }
    // Bytes are transposed: of two nibbles, or of four elements.
    const transposed_src_t bytes = src.as_bytes(src_bits_);
    const dim_t bytes_ahead
            = plan_.is_wide_tile() && !plan_.panels ? in_cache : ahead;
    if (plan_.dword_tiles)
        return pack_dwords(tile_, dword_pitch(), bytes, ahead);
    if (src_bits_ == 2)
        return pack_transposed_quarters(
                tile_, tile_pitch_, bytes, rows, kernel_.isa_, bytes_ahead);
    pack_transposed(tile_, tile_pitch_, bytes, kernel_.isa_, bytes_ahead);
}

// Returns the prefetch distance of a tile whose rows end there. After the last
// tile of a block comes the first one of the next columns.
dim_t jit_walk_t::bytes_ahead_of(const transposed_src_t &src, dim_t end) const {
    const auto bytes
            = [this](dim_t elements) { return elements * src_bits_ / 8; };
    if (plan_.is_wide_tile()) return bytes(src.columns_ahead(cols_ahead));
    if (plan_.tile_rows == 0 || end % plan_.rows.block != 0) return next_line;
    return bytes(
            src.columns_ahead(src.cols) + plan_.tile_rows - plan_.rows.block);
}

void jit_walk_t::pack_gathered_rows(const rect_t &rect) {
    const dim_t col_stride = plan_.strides[0].col;
    tile_row_ = rect.outer_row * plan_.rows.inner_extent + rect.row;
    const bool of_bytes = src_bits_ == 4 || src_bits_ == 8;
    const auto pack = of_bytes ? pack_gathered : pack_gathered_wide;
    pack(tile_, tile_pitch_,
            {buffers_[0], src_bits_, element(0, rect) + rect.col * col_stride,
                    plan_.strides[0].row, col_stride, rect.rows, rect.cols});
}

// Finds the rows of src that a chunk needs, or makes them.
void jit_walk_t::run_rows_of(
        const rect_t &rect, const rect_t &chunk, void *dst, dim_t dst_pitch) {
    const dim_t row_stride = plan_.strides[0].row;
    const dim_t first = element(0, chunk) + chunk.col;
    const dim_t per_byte = std::max(8 / src_bits_, 1);
    using k = jit_rows_t;
    const auto *kernels
            = &kernel_.row_kernels_[streams_at_once_ ? k::streaming : 0];
    switch (plan_.path) {
    case jit_src_path_t::unaligned:
        if (((first | row_stride) & (per_byte - 1)) != 0) {
            const auto unpack = src_bits_ == 2 ? pack_quarters : pack_nibbles;
            for (dim_t r = 0; r < chunk.rows; ++r)
                unpack(tile_ + r * chunk.cols, buffers_[0],
                        first + r * row_stride, chunk.cols);
            call(rect, chunk, dst, dst_pitch,
                    {&kernel_.row_kernels_[k::row_of_tile], tile_, chunk.cols,
                            0, chunk.rows, 0});
            return;
        }
        [[fallthrough]];
    case jit_src_path_t::direct:
        call(rect, chunk, dst, dst_pitch,
                {packs_at_once_ ? &kernel_.packing_kernels_[streams_nibbles_]
                                : &kernels[k::row_of_src],
                        static_cast<const char *>(buffers_[0])
                                + first * src_bits_ / 8,
                        row_stride * src_bits_ / 8, 0, chunk.rows, 0});
        return;
    case jit_src_path_t::gathered:
    case jit_src_path_t::transposed:
        run_rows_of_tile(rect, chunk, dst, dst_pitch);
    }
}

void jit_walk_t::run_rows_of_tile(
        const rect_t &rect, const rect_t &chunk, void *dst, dim_t dst_pitch) {
    using k = jit_rows_t;
    const auto *kernels
            = &kernel_.row_kernels_[streams_at_once_ ? k::streaming : 0];
    const dim_t tile_row
            = chunk.outer_row * plan_.rows.inner_extent + chunk.row - tile_row_;
    const dim_t pitch = tile_pitch_ * tile_bytes_;
    if (plan_.dword_tiles)
        return call(rect, chunk, dst, dst_pitch,
                {&kernels[k::row_of_tile], dwords_of(tile_row), dword_pitch(),
                        0, chunk.rows, 0});
    if (plan_.path == jit_src_path_t::gathered || src_bits_ != 4)
        return call(rect, chunk, dst, dst_pitch,
                {&kernels[k::row_of_tile], tile_ + tile_row * pitch, pitch, 0,
                        chunk.rows, 0});
    // A row of the tile is two: every other row is in the low halves.
    const uint8_t *const rows = tile_ + tile_row / 2 * pitch;
    if (plan_.both_halves) {
        const dim_t in_pairs = chunk.rows - chunk.rows % 2;
        if (in_pairs > 0)
            call(rect, chunk, dst, dst_pitch,
                    {&kernels[k::row_of_tile_both], rows, pitch, 0,
                            in_pairs / 2, 1});
        if (in_pairs < chunk.rows)
            call(rect, chunk, dst, dst_pitch,
                    {&kernels[k::row_of_tile], rows + in_pairs / 2 * pitch,
                            pitch, in_pairs, 1, 0});
        return;
    }
    for (dim_t r = 0; r < std::min<dim_t>(chunk.rows, 2); ++r) {
        const bool high = (tile_row + r) % 2 != 0;
        call(rect, chunk, dst, dst_pitch,
                {&kernels[high ? k::row_of_tile_high : k::row_of_tile],
                        tile_ + (tile_row + r) / 2 * pitch, pitch, r,
                        (chunk.rows - r + 1) / 2, 1});
    }
}

} // namespace dnnl_dequant
