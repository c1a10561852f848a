#include "kernels/dequantize/jit_walk.hpp"

#include <algorithm>

#include "kernels/dequantize/jit_pack_dst.hpp"
#include "kernels/dequantize/jit_pack_dwords.hpp"
#include "kernels/dequantize/jit_stream.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t f32_bytes = 4, line = 64;

// Prefetch distances. After a long row comes the same column of the next row.
// After short rows without gaps comes what is this many bytes further on.
constexpr dim_t long_row = 512;
constexpr dim_t src_bytes_ahead = 512, dst_bytes_ahead = 4096;
// For a src that is wider than dst.
constexpr dim_t wide_src_bytes_ahead = 4096;

dim_t ahead_of(const jit_row_args_t &args, dim_t pitch, dim_t otherwise) {
    return args.rows > 1 && args.cols >= long_row ? pitch : otherwise;
}

size_t at(int index) {
    return static_cast<size_t>(index);
}

} // namespace

jit_walk_t::jit_walk_t(
        const jit_rows_t &kernel, void *const *buffers, uint8_t *tile)
    : kernel_(kernel)
    , problem_(kernel.problem_)
    , plan_(kernel.plan_)
    , buffers_(buffers)
    , dst_bytes_(bytes_of(problem_.dst().type, 1))
    , packs_dst_(bits_of(problem_.dst().type) < 8)
    , src_bits_(bits_of(problem_.src().type))
    , tile_(tile)
    , tile_bytes_(std::max(src_bits_ / 8, 1))
    , tile_pitch_(plan_.tile_pitch(tile_bytes_))
    , group_shift_(__builtin_ctzll(static_cast<uint64_t>(plan_.group_cols)))
    , has_group_table_(plan_.has_group_table())
    , counters_ {{{0, plan_.rows.blocks()}, {0, plan_.cols.blocks()},
              {0, plan_.panel_blocks()}}}
    , most_joined_rows_(
              jit_max_staged / most_staged_cols() * plan_.rows.inner_extent) {}

// Iterations of a loop where the walk stands: at the outer point, in the
// rectangle's outer row and, of its rows, the first.
dim_t jit_walk_t::extent(int l, const rect_t &rect) const {
    if (l < 0) return 1;
    const auto &loop = problem_.loops[at(l)];
    if (loop.parent < 0) return loop.extent;
    dim_t index = index_[loop.parent];
    if (loop.parent == plan_.rows.outer) index = rect.outer_row;
    if (loop.parent == plan_.rows.inner) index = rect.row;
    const dim_t last = problem_.loops[at(loop.parent)].extent - 1;
    return index == last ? loop.last_extent : loop.extent;
}

// The indices of an axis, where its two loops leave no gap.
dim_t jit_walk_t::axis_end(const jit_axis_t &axis, const rect_t &rect) const {
    if (axis.outer < 0) return extent(axis.inner, rect);
    const auto &inner = problem_.loops[at(axis.inner)];
    if (inner.parent == axis.outer)
        return (axis.outer_extent - 1) * axis.inner_extent + inner.last_extent;
    return extent(axis.outer, rect) * extent(axis.inner, rect);
}

void jit_walk_t::run_rows(dim_t begin, dim_t end, dim_t col, dim_t cols) {
    const auto &rows = plan_.rows;
    if (plan_.path == jit_src_path_t::transposed)
        pack_transposed_rows(begin, end, {0, 0, 0, col, cols});
    for (dim_t r = begin; r < end;) {
        // Most often the first, for which nothing need be divided.
        const dim_t outer_row
                = r < rows.inner_extent ? 0 : r / rows.inner_extent;
        const dim_t row = r - outer_row * rows.inner_extent;
        const dim_t count = std::min(end - r, rows.inner_extent - row);
        rect_t rect {outer_row, row, count, col, cols};
        if (const dim_t joined = joined_rows(rect, end); joined > count) {
            rect.rows = joined;
            run_cols(rect);
            r += joined;
            continue;
        }
        if (outer_row < extent(rows.outer, rect)) {
            rect.rows = std::min(count, extent(rows.inner, rect) - row);
            if (rect.rows > 0) run_cols(rect);
        }
        r += count;
    }
}

// How many rows, from those of `rect` to the row `end` of the axis, may go in
// one call; 0 where `rect` does not begin a group.
dim_t jit_walk_t::joined_rows(const rect_t &rect, dim_t end) const {
    if (!plan_.joins_groups || rect.row != 0) return 0;
    if (plan_.streaming && !can_stream_at_once(rect)) return 0;
    const dim_t left = std::min(end, axis_end(plan_.rows, rect))
                       - rect.outer_row * plan_.rows.inner_extent;
    return std::min(most_joined_rows_, left);
}

// Cuts off the columns that a short last group has not.
void jit_walk_t::run_cols(rect_t rect) {
    const auto &cols = plan_.cols;
    const int l = cols.outer < 0 ? cols.inner : cols.outer;
    const int parent = l < 0 ? -1 : problem_.loops[at(l)].parent;
    const dim_t last_row = plan_.rows.inner_extent - 1;
    if (parent >= 0 && parent == plan_.rows.inner && rect.rows > 1
            && rect.row + rect.rows - 1 == last_row) {
        // The last row is shorter than those before it.
        --rect.rows;
        run_cols(rect);
        rect.row = last_row;
        rect.rows = 1;
    }
    rect.cols = std::min(rect.cols, axis_end(cols, rect) - rect.col);
    if (rect.cols <= 0) return;
    if (plan_.streaming && plan_.streams_rows) return run_lines(rect);
    run_in_staged_parts(rect);
}

// Stores whole lines of dst directly, if all rows of dst have lines at the same
// columns. The columns before the first line come last, since the ends of rows
// have brought most of those lines into the caches. Other rows go by way of the
// bounce buffer.
void jit_walk_t::run_lines(const rect_t &rect) {
    const dim_t before = cols_before_line(rect);
    const dim_t most = before < 0 ? plan_.bounced_cols(dst_bytes_) : rect.cols;
    const dim_t head = std::min(std::max<dim_t>(before, 0), rect.cols);
    rect_t part = rect;
    for (dim_t c = head; c < rect.cols; c += most) {
        part.col = rect.col + c;
        part.cols = std::min(most, rect.cols - c);
        run_in_staged_parts(part);
    }
    part.col = rect.col;
    part.cols = head;
    if (head > 0) run_in_staged_parts(part);
}

// Few bytes are stored in turns with reading, so that src that was prefetched
// arrives during the stores.
dim_t jit_walk_t::bounced_bytes() const {
    constexpr dim_t turn = 4096;
    return bounces_ && plan_.stream_ahead > 0 ? turn : jit_bounce_bytes;
}

// Returns the columns up to the first line of dst, the same of each row. It
// returns -1 if lines do not begin with a column, or not all at the same one.
dim_t jit_walk_t::cols_before_line(const rect_t &rect) const {
    const dim_t place = place_in_line(rect), bytes = -place & (line - 1);
    if (place < 0 || bytes % dst_bytes_ != 0) return -1;
    const dim_t cols = bytes / dst_bytes_;
    const bool splits_byte = cols * src_bits_ % 8 != 0;
    const bool is_fixed = plan_.fixed_cols > 0 || plan_.group_cols > 1;
    return cols > 0 && (splits_byte || is_fixed) ? -1 : cols;
}

// Rows of which each has its own parameters must leave these room.
void jit_walk_t::run_in_staged_parts(const rect_t &rect) {
    if (is_joined(rect)) return run_staged(rect);
    dim_t most = rect.rows;
    if (plan_.params_vary() && !plan_.rows_share())
        most = std::max<dim_t>(jit_max_staged / staged_cols(rect), 1);
    else most = jit_max_staged;
    rect_t part = rect;
    for (dim_t r = 0; r < rect.rows; r += most) {
        part.row = rect.row + r;
        part.rows = std::min(most, rect.rows - r);
        run_staged(part);
    }
}

void jit_walk_t::run_staged(const rect_t &rect) {
    if (plan_.panel_loop >= 0) return run_panel(rect);
    if (plan_.path == jit_src_path_t::gathered) pack_gathered_rows(rect);
    stage(rect);
    dim_t most = rect.rows;
    streams_at_once_ = can_stream_at_once(rect);
    packs_at_once_ = can_pack_at_once(rect);
    streams_nibbles_ = packs_at_once_ && can_stream_nibbles(rect);
    // The columns before a line are less than one.
    bounces_ = plan_.streaming && !streams_at_once_
               && rect.cols * dst_bytes_ >= line;
    if ((packs_dst_ && !packs_at_once_) || bounces_)
        most = std::min(most,
                std::max<dim_t>(bounced_bytes() / (rect.cols * dst_bytes_), 1));
    if (plan_.path == jit_src_path_t::unaligned)
        most = std::min(most, jit_tile_bytes / rect.cols);
    if (plan_.both_halves && most < rect.rows) most -= most % 2;
    most = in_dwords(most);
    for (dim_t r = 0; r < rect.rows; r += most)
        run_chunk(rect, r, std::min(most, rect.rows - r));
}

// Cuts rows, of a call, that are no whole dword of a tile of these.
dim_t jit_walk_t::in_dwords(dim_t rows) const {
    return plan_.dword_tiles ? rows - rows % dword_rows(src_bits_) : rows;
}

// True if every row of dst begins at a cache line.
bool jit_walk_t::can_stream_at_once(const rect_t &rect) const {
    return plan_.streams_at_once() && place_in_line(rect) == 0;
}

// Bytes from the beginning of a line to each row of dst; -1 where they differ.
dim_t jit_walk_t::place_in_line(const rect_t &rect) const {
    const int o = static_cast<int>(problem_.operands.size()) - 1;
    const dim_t first = element(o, rect) + rect.col;
    const dim_t pitch = plan_.strides[at(o)].row;
    if (rect.rows > 1 && pitch * dst_bytes_ % line != 0) return -1;
    const auto place
            = static_cast<dim_t>(reinterpret_cast<uintptr_t>(buffers_[o]));
    return (place + first * dst_bytes_) & (line - 1);
}

// True if the row kernel can, and every row of dst begins at a byte.
bool jit_walk_t::can_pack_at_once(const rect_t &rect) const {
    if (kernel_.packing_kernels_[0][two_part_] == nullptr
            || plan_.path != jit_src_path_t::direct)
        return false;
    const int o = static_cast<int>(problem_.operands.size()) - 1;
    const dim_t first = element(o, rect) + rect.col;
    const dim_t per_byte = 8 / bits_of(problem_.dst().type);
    return rect.cols % kernel_.step_width_ == 0 && first % per_byte == 0
           && plan_.strides[at(o)].row % per_byte == 0;
}

// True if every row of dst begins at half a cache line.
bool jit_walk_t::can_stream_nibbles(const rect_t &rect) const {
    constexpr dim_t half = line / 2, per_byte = 2;
    if (!plan_.streams_nibbles) return false;
    const int o = static_cast<int>(problem_.operands.size()) - 1;
    const auto place
            = static_cast<dim_t>(reinterpret_cast<uintptr_t>(buffers_[o]));
    const dim_t first = (element(o, rect) + rect.col) / per_byte;
    const dim_t pitch = plan_.strides[at(o)].row / per_byte;
    return (place + first) % half == 0 && (rect.rows == 1 || pitch % half == 0);
}

// The element of the rectangle's first row and, unless it is of groups, column.
dim_t jit_walk_t::element(int operand, const rect_t &rect) const {
    const auto &strides = plan_.strides[at(operand)];
    return base_[operand] + rect.outer_row * strides.outer_row
           + rect.row * strides.row;
}

void jit_walk_t::run_chunk(const rect_t &rect, dim_t row, dim_t rows) {
    rect_t chunk = rect;
    chunk.row += row;
    chunk.rows = rows;
    const int o = static_cast<int>(problem_.operands.size()) - 1;
    const dim_t row_bytes = rect.cols * dst_bytes_;
    if (packs_at_once_) {
        const dim_t per_byte = 8 / bits_of(problem_.dst().type);
        run_rows_of(rect, chunk,
                static_cast<char *>(buffers_[o])
                        + (element(o, chunk) + chunk.col) / per_byte,
                plan_.strides[at(o)].row / per_byte);
        return;
    }
    if (packs_dst_) {
        run_rows_of(rect, chunk, scratch_.bounce, row_bytes);
        const dim_t first = element(o, chunk) + chunk.col;
        const dim_t pitch = plan_.strides[at(o)].row;
        const int bits = bits_of(problem_.dst().type);
        const bool dense = pitch == rect.cols;
        const dim_t count = dense ? rows * rect.cols : rect.cols;
        for (dim_t r = 0; r < (dense ? 1 : rows); ++r)
            pack_bits(buffers_[o], bits, first + r * pitch,
                    scratch_.bounce + r * row_bytes, count);
        return;
    }
    auto *dst = static_cast<char *>(buffers_[o])
                + (element(o, chunk) + chunk.col) * dst_bytes_;
    const dim_t dst_pitch = plan_.strides[at(o)].row * dst_bytes_;
    if (!bounces_) {
        run_rows_of(rect, chunk, dst, dst_pitch);
        return;
    }
    run_rows_of(rect, chunk, scratch_.bounce, row_bytes);
    if (dst_pitch == row_bytes) {
        stream_copy(dst, scratch_.bounce, rows * row_bytes);
        return;
    }
    for (dim_t r = 0; r < rows; ++r)
        stream_copy(dst + r * dst_pitch, scratch_.bounce + r * row_bytes,
                row_bytes);
}

void jit_walk_t::look_ahead(jit_row_args_t &args) const {
    args.src_ahead = ahead_of(args, args.src_pitch, src_bytes_ahead);
    const dim_t src_row_bytes = std::max<dim_t>(args.cols * src_bits_ / 8, 1);
    if (args.rows > 1 && args.cols < long_row && args.src_pitch > src_row_bytes
            && args.src_pitch <= far_row_bytes)
        args.src_ahead = std::max<dim_t>(bytes_of_rows_ahead / src_row_bytes, 1)
                         * args.src_pitch;
    args.dst_ahead = ahead_of(args, args.dst_pitch, dst_bytes_ahead);
    const bool next_row = args.rows > 1 && args.cols >= long_row
                          && args.src_pitch <= far_row_bytes;
    if (!plan_.params.divides || next_row) return;
    args.src_ahead = wide_src_bytes_ahead;
    args.dst_ahead
            = wide_src_bytes_ahead * bits_of(problem_.dst().type) / src_bits_;
}

// Runs `src.count` rows of a chunk, or every other one, from `src.first` on.
void jit_walk_t::call(const rect_t &rect, const rect_t &chunk, void *dst,
        dim_t dst_pitch, const src_rows_t &src) {
    const auto &params = plan_.params;
    const bool joined = is_joined(rect);
    const auto pitch_of = [&](int operand, bool varies, bool by_row) {
        if (!by_row && !joined) return dim_t(0);
        return (varies ? staged_cols(rect) : staged_pitch(operand, rect))
               * f32_bytes;
    };
    const dim_t scales_pitch
            = pitch_of(params.scales, plan_.scales_vary, plan_.scales_rows);
    const dim_t zps_pitch
            = pitch_of(params.zps, plan_.zps_vary, plan_.zps_rows);
    const dim_t row = !joined ? chunk.row - rect.row + src.first
                      : src.first < plan_.rows.inner_extent
                              ? 0
                              : src.first / plan_.rows.inner_extent;
    const auto shifted = [row](const float *staged, dim_t pitch) {
        return staged + row * pitch / f32_bytes;
    };
    jit_row_args_t args;
    args.src = src.rows;
    args.dst = static_cast<char *>(dst) + src.first * dst_pitch;
    args.scales = shifted(scratch_.scales, scales_pitch);
    args.zps = shifted(scratch_.zps, zps_pitch);
    args.reciprocals = shifted(scratch_.zps_high, scales_pitch);
    args.group_table = kernel_.group_table_.data();
    args.rows = src.count;
    args.cols = chunk.cols;
    args.group_rows = joined ? plan_.rows.inner_extent >> src.other : args.rows;
    args.src_jump = args.dst_jump = 0;
    args.src_pitch = src.pitch;
    args.dst_pitch = dst_pitch << src.other;
    args.dst_high = dst_pitch;
    args.scales_pitch = joined ? scales_pitch : scales_pitch << src.other;
    args.zps_pitch = joined ? zps_pitch : zps_pitch << src.other;
    look_ahead(args);
    if (plan_.dword_tiles) {
        args.group_rows = 1;
        args.scales_jump = args.zps_jump = 0;
        args.dst_ahead = dst_pitch * dword_rows(src_bits_);
    }
    (*(*src.kernels)[two_part_])(args);
}

} // namespace dnnl_dequant
