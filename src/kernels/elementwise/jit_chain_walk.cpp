#include "kernels/elementwise/jit_chain_walk.hpp"

#include <algorithm>

#include "kernels/dequantize/jit_pack_dst.hpp"
#include "kernels/dequantize/jit_stream.hpp"

namespace dnnl_dequant {

namespace {

// Prefetch distances for rows that are long, or follow each other.
constexpr dim_t src_bytes_ahead = 512, dst_bytes_ahead = 4096;

dim_t src_ahead(dim_t rows, dim_t row_bytes, dim_t pitch_bytes) {
    const bool gaps = rows > 1 && row_bytes <= src_bytes_ahead
                      && pitch_bytes > row_bytes
                      && pitch_bytes <= far_row_bytes;
    if (!gaps) return src_bytes_ahead;
    return bytes_of_rows_ahead / std::max<dim_t>(row_bytes, 1) * pitch_bytes;
}

size_t at(int index) {
    return static_cast<size_t>(index);
}

} // namespace

chain_walk_t::chain_walk_t(const jit_elementwise_t &kernel,
        void *const *buffers, chain_memory_t *memory, uint8_t *tiles)
    : kernel_(kernel)
    , problem_(kernel.problem_)
    , plan_(kernel.plan_)
    , buffers_(buffers)
    , dst_bytes_(bytes_of(problem_.dst().type, 1))
    , width_(kernel.kernel_->width())
    , memory_(memory)
    , tiles_(tiles) {}

// Iterations of a loop at the outer point and, where its parent is the rows'
// loop, in that row.
dim_t chain_walk_t::extent(int l, dim_t row) const {
    if (l < 0) return 1;
    const auto &loop = problem_.loops[at(l)];
    if (loop.parent < 0) return loop.extent;
    const dim_t index
            = loop.parent == plan_.rows ? row : index_[at(loop.parent)];
    const dim_t last = problem_.loops[at(loop.parent)].extent - 1;
    return index == last ? loop.last_extent : loop.extent;
}

// The columns of a row: where two loops are columns they leave no gap.
dim_t chain_walk_t::col_end(dim_t row) const {
    if (plan_.outer_cols < 0) return extent(plan_.cols, row);
    const auto &inner = problem_.loops[at(plan_.cols)];
    if (inner.parent == plan_.outer_cols)
        return (plan_.outer_col_extent - 1) * plan_.col_extent
               + inner.last_extent;
    return extent(plan_.outer_cols, row) * plan_.col_extent;
}

// False for a point that is beyond a short last group.
bool chain_walk_t::set_outer_point(dim_t point) {
    if (point == outer_point_) return inside_;
    outer_point_ = point;
    const size_t operands = problem_.operands.size();
    for (size_t o = 0; o < operands; ++o)
        base_[o] = problem_.operands[o].offset;
    for (size_t i = plan_.outer.size(); i-- > 0;) {
        const int l = plan_.outer[i];
        const dim_t iterations = problem_.loops[at(l)].extent;
        index_[at(l)] = i == 0 ? point : point % iterations;
        point /= i == 0 ? 1 : iterations;
        for (size_t o = 0; o < operands; ++o)
            base_[o] += index_[at(l)] * problem_.operands[o].strides[at(l)];
    }
    inside_ = true;
    for (const int l : plan_.outer)
        if (problem_.loops[at(l)].parent != plan_.rows)
            inside_ = inside_ && index_[at(l)] < extent(l, 0);
    return inside_;
}

void chain_walk_t::run_piece(dim_t piece) {
    const dim_t row_blocks = plan_.row_blocks();
    const dim_t col_blocks = plan_.col_blocks();
    const dim_t beside = plan_.points_beside;
    const dim_t in_set = row_blocks * col_blocks * beside;
    const dim_t set = in_set == 1 ? piece : piece / in_set;
    piece -= set * in_set;
    dim_t point = set, row_block = 0, col_block = 0;
    if (plan_.has_tiles) {
        // On along the columns of what is transposed, which are in as many
        // pages.
        row_block = piece % row_blocks;
        piece /= row_blocks;
        point = set * beside + piece % beside;
        col_block = piece / beside;
    } else {
        row_block = piece / col_blocks;
        col_block = piece % col_blocks;
    }
    if (!set_outer_point(point)) return;
    rect_t rect;
    rect.row = row_block * plan_.row_block;
    dim_t row_end
            = plan_.outer_rows < 0 ? extent(plan_.rows, 0) : plan_.all_rows();
    for (const int l : plan_.outer)
        if (plan_.rows >= 0 && problem_.loops[at(l)].parent == plan_.rows
                && index_[at(l)] >= problem_.loops[at(l)].last_extent)
            row_end = std::min(row_end, plan_.row_extent - 1);
    rect.rows = std::min(plan_.row_block, row_end - rect.row);
    rect.col = col_block * plan_.col_block;
    rect.cols = std::min(plan_.col_block, plan_.all_cols() - rect.col);
    if (rect.rows > 0) run_clipped(rect);
}

// Cuts off the columns that a short last group has not.
void chain_walk_t::run_clipped(rect_t rect) {
    const dim_t last = rect.row + rect.rows - 1;
    const dim_t col = rect.col, cols = rect.cols;
    const bool last_is_shorter = col_end(last) < col_end(rect.row);
    const auto run = [&] {
        rect.cols = std::min(cols, col_end(rect.row) - col);
        if (rect.rows <= 0 || rect.cols <= 0) return;
        for (const auto &feed : plan_.feeds)
            if (feed.foreseen) foresee(feed, rect);
        for (const auto &feed : plan_.feeds)
            if (feed.tiled) pack(feed, rect);
        if (plan_.by_group) run_by_group(rect);
        else run_in_chunks(rect, rect);
    };
    if (last_is_shorter) --rect.rows;
    run();
    if (!last_is_shorter) return;
    rect.row = last;
    rect.rows = 1;
    run();
}

dim_t chain_walk_t::padded(dim_t cols) const {
    return round_up(cols, width_);
}

// The element of the row's first column, unless that is of groups.
dim_t chain_walk_t::row_element(const chain_feed_t &feed, dim_t row) const {
    const row_t at_row = place_of(row);
    return base_[at(feed.operand)] + at_row.outer * feed.outer_row
           + at_row.inner * feed.row;
}

// Most often there is no outer loop, and nothing need be divided.
chain_walk_t::row_t chain_walk_t::place_of(dim_t row) const {
    if (row < plan_.row_extent) return {0, row};
    return {row / plan_.row_extent, row % plan_.row_extent};
}

// Returns the element of the chunk's group, if a group's values are constants.
dim_t chain_walk_t::group_element(
        const chain_feed_t &feed, const rect_t &chunk) const {
    const dim_t first = row_element(feed, chunk.row);
    if (!plan_.by_group) return first;
    return first + chunk.col / plan_.col_extent * feed.outer_col;
}

// True if every row of dst begins at a cache line.
bool chain_walk_t::can_stream(const rect_t &rect) const {
    if (!plan_.streaming) return false;
    constexpr dim_t line = 64;
    return reinterpret_cast<uintptr_t>(dst_at(rect)) % line == 0
           && plan_.dst.row * dst_bytes_ % line == 0
           && plan_.dst.outer_row * dst_bytes_ % line == 0;
}

dim_t chain_walk_t::chunk_rows(const rect_t &rect, bool bounced) const {
    dim_t most = rect.rows;
    if (plan_.constants_by_row)
        most = std::min<dim_t>(most, chain_desc_t::constant_rows);
    if (plan_.staged_by_row)
        most = std::min(
                most, (plan_.slice_floats - staged_slack) / padded(rect.cols));
    if (bounced)
        most = std::min(most, chain_bounce_bytes / (rect.cols * dst_bytes_));
    return std::max<dim_t>(most, 1);
}

void chain_walk_t::run_by_group(const rect_t &rect) {
    rect_t part = rect;
    const dim_t end = rect.col + rect.cols;
    for (; part.col < end; part.col += part.cols) {
        const dim_t left = plan_.col_extent - part.col % plan_.col_extent;
        part.cols = std::min(left, end - part.col);
        run_in_chunks(rect, part);
    }
}

void chain_walk_t::run_in_chunks(const rect_t &piece, const rect_t &rect) {
    const bool bounced = plan_.packs || (plan_.streaming && !can_stream(rect));
    const dim_t most = chunk_rows(rect, bounced);
    for_calls(rect, [&](const rect_t &rows) {
        rect_t chunk = rows;
        for (dim_t r = 0; r < rows.rows; r += most) {
            chunk.row = rows.row + r * plan_.row_step();
            chunk.rows = std::min(most, rows.rows - r);
            run_chunk(piece, chunk, bounced);
        }
    });
}

void chain_walk_t::run_chunk(
        const rect_t &piece, const rect_t &chunk, bool bounced) {
    for (const auto &feed : plan_.feeds)
        stage(feed, chunk);
    chain_args_t args;
    set_args(args, piece, chunk);
    args.dst = bounced ? memory_->bounce : dst_at(chunk);
    const dim_t dst_row = bounced ? chunk.cols : plan_.call_row(plan_.dst);
    args.dst_skip = (dst_row - args.whole) * dst_bytes_;
    if (plan_.streaming && !bounced) (*kernel_.streaming_kernel_)(args);
    else (*kernel_.kernel_)(args);
    if (bounced) flush(chunk);
}

dim_t chain_walk_t::dst_element(const rect_t &rect) const {
    return row_element(plan_.dst, rect.row) + rect.col;
}

char *chain_walk_t::dst_at(const rect_t &rect) const {
    return static_cast<char *>(buffers_[problem_.operands.size() - 1])
           + dst_element(rect) * dst_bytes_;
}

void chain_walk_t::flush(const rect_t &chunk) const {
    const dim_t row_bytes = chunk.cols * dst_bytes_;
    const operand_t &dst = problem_.dst();
    rect_t row = chunk;
    for (dim_t r = 0; r < chunk.rows; ++r, row.row += plan_.row_step()) {
        const char *from = memory_->bounce + r * row_bytes;
        if (plan_.packs)
            pack_bits(buffers_[problem_.operands.size() - 1], bits_of(dst.type),
                    dst_element(row), from, chunk.cols);
        else stream_copy(dst_at(row), from, row_bytes);
    }
}

void chain_walk_t::set_args(
        chain_args_t &args, const rect_t &piece, const rect_t &chunk) {
    args.rows = chunk.rows;
    args.tail = chunk.cols % width_;
    args.whole = chunk.cols - args.tail;
    args.dst_ahead = plan_.panels ? plan_.call_row(plan_.dst) * dst_bytes_
                                  : dst_bytes_ahead;
    args.constants = constants_[0];
    constexpr dim_t f32_bytes = 4;
    args.constants_pitch = plan_.constants_by_row ? f32_bytes : 0;
    for (const auto &feed : plan_.feeds) {
        const auto &port = plan_.desc.ports[at(feed.input.port)];
        if (port.access == access_t::direct)
            set_direct(args, feed, piece, chunk);
        if (port.access != access_t::staged) continue;
        for (int part = 0; part < (feed.input.high < 0 ? 1 : 2); ++part) {
            const size_t place = at(port.place + part);
            args.pointers[place] = memory_->staged + feed.slices[at(part)];
            args.skips[place]
                    = ((feed.by_row ? padded(chunk.cols) : 0) - args.whole)
                      * f32_bytes;
        }
    }
}

void chain_walk_t::set_direct(chain_args_t &args, const chain_feed_t &feed,
        const rect_t &piece, const rect_t &chunk) const {
    const auto &port = plan_.desc.ports[at(feed.input.port)];
    const dim_t bits = port.format.container_bits;
    const char *base = static_cast<const char *>(buffers_[feed.operand]);
    dim_t first = row_element(feed, chunk.row) + chunk.col;
    dim_t pitch = plan_.call_row(feed);
    if (feed.tiled) {
        base = reinterpret_cast<const char *>(tiles_) + feed.tile;
        const dim_t row
                = tile_row(feed, chunk.row) - first_tile_row(feed, piece);
        first = row * plan_.tile_pitch + chunk.col - piece.col;
        pitch = tile_row_step(feed) * plan_.tile_pitch;
    }
    args.pointers[port.place] = base + first * bits / 8;
    args.skips[port.place] = (pitch - args.whole) * bits / 8;
    args.aheads[port.place]
            = src_ahead(chunk.rows, chunk.cols * bits / 8, pitch * bits / 8);
}

} // namespace dnnl_dequant
