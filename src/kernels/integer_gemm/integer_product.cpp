#include "kernels/integer_gemm/integer_product.hpp"

#include <algorithm>
#include <array>

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
    if (plan_.stream) place_groups_of_stream();
    else place_groups();
    if (plan_.repacked) init_repacked();
}

void integer_product_t::place_groups_of_stream() {
    for (const auto &group : plan_.groups)
        places_.push_back(group.begin);
    constexpr dim_t unit = integer_stream_t::src_unit;
    row_end_ = round_up(plan_.depth, unit);
}

// Otherwise all rows of a panel would be unpacked before those of the next one,
// a line of each row.
bool integer_product_t::cuts_group() const {
    const integer_format_t &format = plan_.format;
    return can_cut_group(format) && plan_.groups.size() == 1 && !plan_.repacked
           && plan_.depth > plan_.block_depth;
}

void integer_product_t::place_groups() {
    for (const auto &group : plan_.groups) {
        places_.push_back(row_end_);
        const dim_t most = cuts_group() ? plan_.block_depth : group.size;
        for (dim_t k = 0; k < group.size; k += most)
            add_piece({group.begin + k, std::min(most, group.size - k),
                    row_end_ + k});
        row_end_ += whole_units(plan_.format, group.size);
    }
    part_panels_ = std::clamp<dim_t>(
            plan_.most_part_bytes / (deepest_ * integer_panel), 1,
            most_block_panels);
}

void integer_product_t::add_piece(const piece_t &piece) {
    const dim_t size = whole_units(plan_.format, piece.size);
    if (blocks_.empty() || block_depth_ + size > plan_.block_depth
            || blocks_.back().count == most_block_groups) {
        blocks_.push_back({pieces_.size(), 0});
        block_depth_ = 0;
    }
    pieces_.push_back(piece);
    ++blocks_.back().count;
    block_depth_ += size;
    deepest_ = std::max(deepest_, block_depth_);
    most_pieces_ = std::max(most_pieces_, blocks_.back().count);
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

dim_t integer_product_t::panel_bytes() const {
    return deepest_ * integer_panel;
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

dim_t integer_product_t::first_weight(
        const piece_block_t &pieces, dim_t col) const {
    return pieces_[pieces.first].begin * plan_.format.depth_stride
           + col * plan_.format.col_stride;
}

void integer_product_t::place_panels(part_t &part, void *own) const {
    auto *bytes = static_cast<uint8_t *>(own);
    const dim_t first_panel = keeps_columns() ? part.col / integer_panel : 0;
    for (dim_t p = 0; p < part.panel_count(); ++p) {
        uint8_t *k4_blocks = bytes + p * panel_bytes();
        auto *columns = reinterpret_cast<integer_columns_t *>(
                bytes + part_panels_ * panel_bytes()
                + (first_panel + p) * columns_bytes());
        if (is_by_column()) columns += part.pieces.first;
        for (size_t i = 0; i < part.pieces.count; ++i) {
            const piece_t &piece = pieces_[part.pieces.first + i];
            const dim_t depth = whole_units(plan_.format, piece.size);
            part.panels[static_cast<size_t>(p)][i]
                    = {k4_blocks, columns + i, piece.place, depth / 4};
            if (!continues(part))
                std::fill_n(columns[i].sums, integer_panel, 0);
            k4_blocks += depth * integer_panel;
        }
    }
}

void integer_product_t::unpack_k_chunks(
        void *const *buffers, const part_t &part) const {
    const integer_format_t &format = plan_.format;
    const bool by_column = is_by_column();
    for (size_t i = 0; i < part.pieces.count; ++i) {
        const piece_t &piece = pieces_[part.pieces.first + i];
        const dim_t rows = by_column ? piece.size : plan_.k_chunk;
        for (dim_t k = 0; k < piece.size; k += rows) {
            const dim_t first = (piece.begin + k) * format.depth_stride
                                + part.first_col * format.col_stride;
            integer_weights_t weights;
            weights.base = buffers[0];
            weights.begin = k;
            weights.depth = std::min(rows, piece.size - k);
            const bool is_last = i + 1 == part.pieces.count
                                 && k + weights.depth == piece.size;
            weights.ahead = is_last ? part.next - first
                                    : weights.depth * format.depth_stride;
            for (dim_t p = 0; p < part.panel_count(); ++p) {
                weights.first = first + p * integer_panel * format.col_stride;
                weights.cols = part.panel_cols(p);
                plan_.kernel->unpack(
                        weights, part.panels[static_cast<size_t>(p)][i]);
            }
        }
    }
}

// Parameters of [N,K] weights are read column by column, for all groups at
// once.
void integer_product_t::load_parameters(
        void *const *buffers, const part_t &part) const {
    const auto &scales = plan_.weights_scales, &zps = plan_.weights_zps;
    const size_t first = part.pieces.first;
    if (first > 0 && keeps_columns()) return;
    const auto count = is_by_column() ? plan_.groups.size() : part.pieces.count;
    for (dim_t p = 0; p < part.panel_count(); ++p) {
        const dim_t col = p * integer_panel;
        plan_.kernel->load_parameters(
                {buffers[scales.operand], buffers[zps.operand],
                        scales.group.data() + first, zps.group.data() + first,
                        part.first_col + col},
                part.panel_cols(p), static_cast<dim_t>(count),
                part.panels[static_cast<size_t>(p)][0].columns);
    }
}

// Prefetches are spread evenly: each panel prefetches its share of the next
// weights. They are the next block's columns for [N,K], the next groups' rows
// for [K,N].
integer_prefetch_t integer_product_t::prefetch(void *const *buffers,
        const block_t &block, const part_t &part, dim_t panel) const {
    const data_type_t type = plan_.format.weights;
    const size_t next = part.block + 1;
    if (!is_by_column() && (!plan_.format.is_packed || next == blocks_.size()))
        return {};
    dim_t first, rows, width, pitch, begin, end, whole, from = 0;
    if (is_by_column()) {
        const dim_t panels = part.panel_count();
        first = part.first_col + part.cols;
        rows = std::min(part.cols, plan_.cols - first);
        width = bytes_of(type, plan_.depth);
        pitch = bytes_of(type, plan_.format.col_stride);
        begin = static_cast<dim_t>(part.block) * panels + panel;
        end = begin + 1;
        whole = static_cast<dim_t>(blocks_.size()) * panels;
    } else {
        const piece_t &last
                = pieces_[blocks_[next].first + blocks_[next].count - 1];
        first = pieces_[blocks_[next].first].begin;
        rows = last.begin + last.size - first;
        width = bytes_of(type, block.cols);
        pitch = bytes_of(type, plan_.format.depth_stride);
        from = bytes_of(type, block.first_col);
        begin = part.col + panel * integer_panel;
        end = std::min(begin + integer_panel, block.cols);
        whole = block.cols;
    }
    if (rows <= 0) return {};
    constexpr dim_t step = integer_prefetch_t::step;
    const dim_t steps_of_row = div_up(width, step);
    begin = rows * steps_of_row * begin / whole;
    end = rows * steps_of_row * end / whole;
    const uint8_t *row = at(static_cast<const void *>(buffers[0]),
            from + (first + begin / steps_of_row) * pitch);
    return {row + begin % steps_of_row * step, row + width, pitch, width,
            end - begin};
}

// Describes the rows of src, beginning at a group.
integer_tile_t integer_product_t::src_tile(
        const block_t &block, size_t first_group, const void *shared) const {
    const auto count = static_cast<dim_t>(plan_.groups.size());
    const bool is_packed = plan_.format.is_packed;
    integer_tile_t tile;
    tile.a_pitch = is_packed ? k4_block : row_bytes();
    tile.a_k4_pitch = is_packed ? k4_block * plan_.rows : k4_block;
    tile.a = reinterpret_cast<const int8_t *>(
            at(shared, (is_packed ? interleaved_at() : rows_at())
                               + block.first_row * tile.a_pitch));
    tile.rows = block.rows;
    tile.row_groups
            = reinterpret_cast<const row_group_t *>(at(shared, groups_at()))
              + block.first_row * count + static_cast<dim_t>(first_group);
    tile.row_groups_pitch = count;
    return tile;
}

void integer_product_t::multiply(void *const *buffers, const block_t &block,
        const part_t &part, const void *shared) const {
    const size_t first_group = cuts_group() ? 0 : part.pieces.first;
    integer_tile_t tile = src_tile(block, first_group, shared);
    tile.group_count = static_cast<dim_t>(part.pieces.count);
    tile.c_pitch = block.c_pitch;
    tile.continues = continues(part);
    tile.accumulates = first_group > 0 || tile.continues;
    tile.ends = !cuts_group() || part.block + 1 == blocks_.size();
    for (dim_t p = 0; p < part.panel_count(); ++p) {
        tile.groups = part.panels[static_cast<size_t>(p)].data();
        tile.c = block.c + part.col + p * integer_panel;
        tile.prefetch = prefetch(buffers, block, part, p);
        plan_.kernel->multiply(tile);
    }
}

void integer_product_t::run(void *const *buffers, const block_t &block,
        const void *shared, void *own) const noexcept {
    if (plan_.repacked) run_repacked(buffers, block, shared);
    else if (plan_.stream) run_stream(buffers, block, shared, own);
    else run_parts(buffers, block, shared, own);
}

void integer_product_t::run_stream(void *const *buffers, const block_t &block,
        const void *shared, void *own) const {
    const auto count = static_cast<dim_t>(plan_.groups.size());
    integer_stream_t::block_t of_stream;
    of_stream.a = at(shared, rows_at() + block.first_row * row_bytes());
    of_stream.a_pitch = row_bytes();
    of_stream.rows = block.rows;
    of_stream.row_groups
            = reinterpret_cast<const row_group_t *>(at(shared, groups_at()))
              + block.first_row * count;
    of_stream.row_groups_pitch = count;
    of_stream.first_col = block.first_col;
    of_stream.cols = block.cols;
    of_stream.c = block.c;
    of_stream.c_pitch = block.c_pitch;
    of_stream.own = own;
    for (dim_t r = 0; r < block.rows; ++r)
        std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
    plan_.stream->run(buffers[0], buffers[plan_.weights_scales.operand],
            buffers[plan_.weights_zps.operand], of_stream);
}

void integer_product_t::run_parts(void *const *buffers, const block_t &block,
        const void *shared, void *own) const {
    const dim_t part_cols = part_panels_ * integer_panel;
    part_t part;
    for (size_t b = 0; b < blocks_.size(); ++b)
        for (dim_t col = 0; col < block.cols; col += part_cols) {
            part.block = b;
            part.pieces = blocks_[b];
            part.col = col;
            part.cols = std::min(part_cols, block.cols - col);
            part.first_col = block.first_col + col;
            part.next = col + part_cols < block.cols
                                ? first_weight(blocks_[b],
                                          part.first_col + part_cols)
                                : first_weight(blocks_[std::min(b + 1,
                                                       blocks_.size() - 1)],
                                          block.first_col);
            place_panels(part, own);
            load_parameters(buffers, part);
            unpack_k_chunks(buffers, part);
            multiply(buffers, block, part, shared);
        }
}

} // namespace dnnl_dequant
