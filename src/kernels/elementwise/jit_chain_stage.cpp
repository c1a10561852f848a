// The walk's way to inputs that generated code cannot read where they stand.

#include "kernels/elementwise/jit_chain_walk.hpp"

#include <algorithm>

#include <immintrin.h>

#include "base/prefetch.hpp"
#include "kernels/dequantize/jit_pack.hpp"
#include "kernels/dequantize/jit_pack_wide.hpp"

namespace dnnl_dequant {

namespace {

// Columns of a panel; the lines behind them are another panel's.
constexpr dim_t cols_ahead = 16;

size_t at(int index) {
    return static_cast<size_t>(index);
}

int parts_of(const chain_feed_t &feed) {
    return feed.input.high < 0 ? 1 : 2;
}

// Splits rows that hold two nibbles a byte. Every other row is still empty and
// gets the upper nibbles. The bits left in the upper halves are ignored.
__attribute__((target("avx2"))) void split_nibbles(
        uint8_t *tile, dim_t pitch, dim_t rows, dim_t cols) {
    constexpr dim_t step = 32;
    for (dim_t r = 0; r + 1 < rows; r += 2) {
        const uint8_t *from = tile + r * pitch;
        uint8_t *to = tile + (r + 1) * pitch;
        dim_t c = 0;
        for (; c + step <= cols; c += step) {
            const __m256i two = _mm256_loadu_si256(
                    reinterpret_cast<const __m256i *>(from + c));
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + c),
                    _mm256_srli_epi16(two, 4));
        }
        for (; c < cols; ++c)
            to[c] = static_cast<uint8_t>(from[c] >> 4);
    }
}

// Makes integers of bytes whose lowest two bits count.
__attribute__((target("avx2"))) void spread_two_bits(
        uint8_t *tile, dim_t pitch, dim_t rows, dim_t cols, bool is_signed) {
    constexpr dim_t step = 32;
    constexpr uint8_t bits = 3;
    const uint8_t sign = is_signed ? 2 : 0;
    const __m256i all_bits = _mm256_set1_epi8(bits);
    const __m256i all_signs = _mm256_set1_epi8(static_cast<char>(sign));
    for (dim_t r = 0; r < rows; ++r, tile += pitch) {
        dim_t c = 0;
        for (; c + step <= cols; c += step) {
            auto *const at = reinterpret_cast<__m256i *>(tile + c);
            const __m256i codes
                    = _mm256_and_si256(_mm256_loadu_si256(at), all_bits);
            _mm256_storeu_si256(
                    at, _mm256_sub_epi8(
                                _mm256_xor_si256(codes, all_signs), all_signs));
        }
        for (; c < cols; ++c)
            tile[c] = static_cast<uint8_t>(((tile[c] & bits) ^ sign) - sign);
    }
}

void invert(float *values, dim_t count) {
    for (dim_t i = 0; i < count; ++i)
        values[i] = 1.f / values[i];
}

} // namespace

// Counted in elements.
transposed_src_t chain_walk_t::columns_of(
        const chain_feed_t &feed, const rect_t &rect) const {
    transposed_src_t src {nullptr, feed.col, rect.rows, rect.cols};
    dim_t first = row_element(feed, rect.row);
    if (feed.in_groups) {
        src.group = plan_.col_extent;
        src.group_stride = feed.outer_col;
        src.first = rect.col % src.group;
        first += rect.col / src.group * feed.outer_col;
    } else {
        first += rect.col * feed.col;
    }
    const int bits = bits_of(problem_.operands[at(feed.operand)].type);
    src.data = static_cast<const uint8_t *>(buffers_[feed.operand])
               + first * bits / 8;
    return src;
}

// The row of a tile that serves a row, counted from the operand's first one.
dim_t chain_walk_t::tile_row(const chain_feed_t &feed, dim_t row) const {
    switch (feed.tile_row) {
    case tile_row_t::inner: return place_of(row).inner;
    case tile_row_t::outer: return place_of(row).outer;
    case tile_row_t::row: break;
    }
    return row;
}

// The row that a piece's tile begins with. One that begins within a byte is
// transposed with the row before it.
dim_t chain_walk_t::first_tile_row(
        const chain_feed_t &feed, const rect_t &piece) const {
    if (feed.tile_row == tile_row_t::inner) return 0;
    const dim_t first = tile_row(feed, piece.row);
    const int bits = bits_of(problem_.operands[at(feed.operand)].type);
    const dim_t per_byte = std::max(8 / bits, 1);
    return first / per_byte * per_byte;
}

// Rows of a tile from a row of a call to the next.
dim_t chain_walk_t::tile_row_step(const chain_feed_t &feed) const {
    if (feed.tile_row == tile_row_t::row) return plan_.row_step();
    const bool is_outer = feed.tile_row == tile_row_t::outer;
    return is_outer == plan_.calls_along_outer ? 1 : 0;
}

void chain_walk_t::pack(const chain_feed_t &feed, const rect_t &rect) {
    uint8_t *const tile = tiles_ + feed.tile;
    rect_t rows = rect;
    if (feed.tile_row == tile_row_t::inner) {
        rows.row -= place_of(rect.row).inner;
        rows.rows = plan_.row_extent;
    } else if (feed.tile_row == tile_row_t::outer) {
        const dim_t first = first_tile_row(feed, rect);
        rows.row = first * plan_.row_extent;
        rows.rows = tile_row(feed, rect.row + rect.rows - 1) + 1 - first;
    } else if (!plan_.rows_run_on(feed)) {
        for_row_groups(rect, [&](const rect_t &group) {
            const dim_t first = (group.row - rect.row) * plan_.tile_pitch;
            const int bits = plan_.desc.ports[at(feed.input.port)]
                                     .format.container_bits;
            pack_rows(feed, group, tile + first * bits / 8);
        });
        return;
    }
    pack_rows(feed, rows, tile);
}

void chain_walk_t::pack_rows(
        const chain_feed_t &feed, const rect_t &rect, uint8_t *tile) {
    const data_type_t type = problem_.operands[at(feed.operand)].type;
    const int bits = bits_of(type);
    const transposed_src_t src = columns_of(feed, rect);
    const dim_t pitch = plan_.tile_pitch;
    const dim_t ahead = plan_.panels ? src.columns_ahead(cols_ahead) * bits / 8
                                     : next_line;
    if (bits > 8) {
        pack_transposed_wide(tile, pitch, src, bits, ahead);
        return;
    }
    const transposed_src_t bytes = src.as_bytes(bits);
    if (bits == 2) {
        pack_transposed_quarters(
                tile, pitch, bytes, rect.rows, kernel_.isa_, ahead);
        spread_two_bits(
                tile, pitch, rect.rows, rect.cols, type == data_type_t::s2);
    } else if (bits == 4) {
        pack_transposed(tile, 2 * pitch, bytes, kernel_.isa_, ahead);
        split_nibbles(tile, pitch, rect.rows, rect.cols);
    } else {
        pack_transposed(tile, pitch, bytes, kernel_.isa_, ahead);
    }
}

// Rows that are read where they stand, but a few columns of each: the hardware
// does not foresee them.
void chain_walk_t::foresee(const chain_feed_t &feed, const rect_t &rect) const {
    constexpr dim_t line = 64;
    const int bits = bits_of(problem_.operands[at(feed.operand)].type);
    const auto *base = static_cast<const char *>(buffers_[feed.operand]);
    for (dim_t r = 0; r < rect.rows; ++r) {
        const dim_t first = row_element(feed, rect.row + r) + rect.col;
        const char *from = base + first * bits / 8;
        const char *end = from + rect.cols * bits / 8;
        for (; from < end; from += line)
            _mm_prefetch(from, _MM_HINT_T1);
    }
}

void chain_walk_t::stage(const chain_feed_t &feed, const rect_t &chunk) {
    const auto access = plan_.desc.ports[at(feed.input.port)].access;
    if (access == access_t::direct) return;
    // Other rows often have the same.
    const bool is_constant = access == access_t::constant;
    const dim_t first = is_constant ? group_element(feed, chunk)
                                    : row_element(feed, chunk.row);
    auto &key = keys_[at(feed.operand)];
    const bool same
            = key.first == first && (!feed.by_row || key.rows >= chunk.rows);
    if (is_constant) {
        if (same) return;
        stage_constant(feed, chunk);
    } else {
        if (same && key.col == chunk.col && key.cols == chunk.cols) return;
        stage_rows(feed, chunk);
    }
    key = {first, chunk.col, chunk.rows, chunk.cols};
}

void chain_walk_t::stage_constant(
        const chain_feed_t &feed, const rect_t &chunk) {
    const int place = plan_.desc.ports[at(feed.input.port)].place;
    const dim_t first = group_element(feed, chunk);
    for (int part = 0; part < parts_of(feed); ++part) {
        float *to = constants_[place + part];
        // The function writes some floats past the last.
        alignas(64) float values[chain_desc_t::constant_rows + staged_slack];
        const dim_t count = feed.by_row ? chunk.rows : 1;
        feed.stages[at(part)](values, buffers_[feed.operand], first,
                plan_.call_row(feed), count);
        if (feed.reciprocal) invert(values, count);
        std::copy(values, values + count, to);
        if (!feed.by_row && plan_.constants_by_row)
            std::fill(to, to + chain_desc_t::constant_rows, values[0]);
    }
}

void chain_walk_t::stage_rows(const chain_feed_t &feed, const rect_t &chunk) {
    const dim_t rows = feed.by_row ? chunk.rows : 1;
    for (int part = 0; part < parts_of(feed); ++part)
        for (dim_t r = 0; r < rows; ++r) {
            float *to = memory_->staged + feed.slices[at(part)]
                        + r * padded(chunk.cols);
            stage_cols(to, feed.stages[at(part)], feed,
                    row_element(feed, chunk.row + r * plan_.row_step()), chunk);
            if (feed.reciprocal) invert(to, chunk.cols);
        }
}

void chain_walk_t::stage_cols(float *to, stage_t read, const chain_feed_t &feed,
        dim_t first, const rect_t &chunk) {
    const void *base = buffers_[feed.operand];
    const dim_t extent = plan_.col_extent;
    if (plan_.outer_cols < 0) {
        read(to, base, first + chunk.col * feed.col, feed.col, chunk.cols);
    } else if (feed.col == 0) {
        // Repeats the one value of each group.
        auto *values = reinterpret_cast<float *>(memory_->bounce);
        const dim_t skip = chunk.col % extent;
        const dim_t begin = first + chunk.col / extent * feed.outer_col;
        const dim_t groups = div_up(skip + chunk.cols, extent);
        const int bits = bits_of(problem_.operands[at(feed.operand)].type);
        if (feed.outer_col == 1)
            prefetch_bytes(static_cast<const char *>(base) + begin * bits / 8
                                   + param_bytes_ahead,
                    div_up(groups * bits, dim_t(8)));
        read(values, base, begin, feed.outer_col, groups);
        repeat_each(to, values, extent, skip, chunk.cols);
    } else if (feed.outer_col == 0) {
        stage_turns(to, read, feed, first, chunk);
    } else {
        for (dim_t c = 0, count = 0; c < chunk.cols; c += count) {
            const dim_t skip = (chunk.col + c) % extent;
            const dim_t group = (chunk.col + c) / extent;
            count = std::min(chunk.cols - c, extent - skip);
            read(to + c, base, first + group * feed.outer_col + skip * feed.col,
                    feed.col, count);
        }
    }
}

// Reads the values of the inner loop once, from the chunk's first column on,
// and repeats them.
void chain_walk_t::stage_turns(float *to, stage_t read,
        const chain_feed_t &feed, dim_t first, const rect_t &chunk) {
    const void *base = buffers_[feed.operand];
    const dim_t extent = plan_.col_extent;
    const dim_t skip = chunk.col % extent;
    const dim_t cols = std::min(extent, chunk.cols);
    const dim_t before_end = std::min(extent - skip, cols);
    read(to, base, first + skip * feed.col, feed.col, before_end);
    if (before_end < cols)
        read(to + before_end, base, first, feed.col, cols - before_end);
    for (dim_t c = cols, count = 0; c < chunk.cols; c += count) {
        count = std::min(c, chunk.cols - c);
        std::copy_n(to, count, to + c);
    }
}

} // namespace dnnl_dequant
