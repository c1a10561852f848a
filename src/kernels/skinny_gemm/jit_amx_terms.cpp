// Rows of f32 as three bf16 for each element, or rows of bf16, packed for the
// tiles of AMX.
//
//   for each 32 rows: for each 32 of depth (a part): for each term:
//       for each 16 of the rows (a tile): for each pair of the depth:
//           for each row: two bf16
//
// Or a tile has a row's elements in each line. The places of missing rows may
// hold anything. Pairs of rows of rounded bf16 have none of these places.

#include "kernels/skinny_gemm/jit_amx_terms.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/bits.hpp"
#include "base/convert.hpp"
#include "base/text.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t part_depth = amx_row_bytes / 2;

// The terms of a part. Each subtraction is exact. A number that is not finite
// has one term.
struct terms_t {
    uint16_t of[f32_terms][part_depth];

    // The compiler vectorizes these loops.
    void split(const float *from) {
        constexpr uint32_t upper = 0xffff0000, infinity = 0x7f800000;
        constexpr uint32_t sign = 0x80000000, quiet = 0x00400000;
        uint32_t bits[f32_terms][part_depth];
        std::memcpy(bits[0], from, sizeof(bits[0]));
        for (dim_t k = 0; k < part_depth; ++k) {
            const uint32_t all = bits[0][k], size = all & ~sign;
            const uint32_t is_finite = size < infinity ? ~0u : 0;
            const float first = f32_of_bits(all & upper);
            const float left = f32_of_bits(
                    bits_of_f32(f32_of_bits(all) - first) & is_finite);
            bits[1][k] = bits_of_f32(left);
            const float second = f32_of_bits(bits[1][k] & upper);
            bits[2][k] = bits_of_f32(left - second);
            bits[0][k] = all | (size > infinity ? quiet : 0);
        }
        for (int t = 0; t < f32_terms; ++t)
            for (dim_t k = 0; k < part_depth; ++k)
                of[t][k] = static_cast<uint16_t>(bits[t][k] >> 16);
    }
};

// Copies pairs of elements that are `gap` apart to the lines of a tile.
void copy_pairs(const uint16_t *from, dim_t step, dim_t gap, char *to,
        dim_t line_bytes) {
    for (dim_t i = 0; i < part_depth / 2; ++i) {
        const uint16_t pair[] = {from[i * step], from[i * step + gap]};
        std::memcpy(to + i * line_bytes, pair, sizeof(pair));
    }
}

// The compiler vectorizes the inner loop.
float sum_of(const uint16_t *values, dim_t count) {
    constexpr dim_t lanes = part_depth;
    float sums[lanes] = {};
    for (dim_t k = 0; k < count; k += lanes)
        for (dim_t i = 0; i < lanes; ++i)
            sums[i] += f32_of_bits(uint32_t(values[k + i]) << 16);
    return std::accumulate(sums, sums + lanes, 0.f);
}

} // namespace

amx_layout_t amx_terms_t::layout() const {
    if (weights_.multiplied == data_type_t::bf16)
        return {1, !amx_has_columns(weights_), false};
    const bool is_whole = weights_.tiles == skinny_tiles_t::integers;
    const bool corrects = is_whole && weights_.are_nibbles()
                          && weights_.zps.type != data_type_t::undef
                          && !is_of_many_rows();
    return {is_whole ? 1 : f32_terms, true, true, corrects};
}

result_t amx_terms_t::check_zps() const {
    const skinny_weights_t &w = weights_;
    if (!scales_sums() || w.zps.type == data_type_t::undef) return {};
    constexpr int64_t most = 256; // of the integers that bf16 holds
    const int_range_t weights = range_of(w.type), zps = range_of(w.zps.type);
    if (weights.highest - zps.lowest > most
            || zps.highest - weights.lowest > most)
        return refuse("weights less zero points do not fit bf16");
    return {};
}

dim_t amx_terms_t::packed_bytes(dim_t rows) const {
    const dim_t sums
            = layout().corrects_sums ? weights_.depth / sum_depth() : 0;
    return data_bytes(rows) + sums * room_of(rows) * 4;
}

// The sums of src come behind the tiles of each block of rows.
void amx_terms_t::sum_rows(const char *from, dim_t pitch, dim_t rows,
        dim_t begin, dim_t end, char *packed) const noexcept {
    const dim_t depth = sum_depth();
    auto *const sums = reinterpret_cast<float *>(packed + data_bytes(rows));
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t k = begin; k < end; k += depth) {
            const uint16_t *const values = amx_row(from, r * pitch) + k;
            sums[k / depth * room_of(rows) + r] = sum_of(values, depth);
        }
}

const float *amx_terms_t::src_sums(const block_t &block) const {
    if (!layout().corrects_sums) return nullptr;
    return reinterpret_cast<const float *>(
            static_cast<const char *>(block.a) + data_bytes(block.rows));
}

// The place of an element in a block of rows: that of its first term.
dim_t amx_terms_t::place_of(dim_t rows, dim_t row, dim_t k) const {
    const dim_t at = k % part_depth;
    const dim_t part = k / part_depth * layout().terms * term_bytes(rows);
    if (!amx_has_columns(weights_)) return part + row * amx_row_bytes + 2 * at;
    const dim_t in_line = layout().are_padded
                                  ? row / amx_tile_rows * amx_tile_bytes
                                            + row % amx_tile_rows * 4
                                  : row * 4;
    return part + at / 2 * line_bytes(rows) + in_line + at % 2 * 2;
}

// Packs a part of a row, from element `k` on: the terms of f32, or bf16 as they
// are.
void amx_terms_t::pack_part(
        const char *row, dim_t k, dim_t rows, char *place) const noexcept {
    const auto copy = [&](const uint16_t *from, dim_t step, dim_t gap) {
        if (amx_has_columns(weights_))
            copy_pairs(from, step, gap, place, line_bytes(rows));
        else std::memcpy(place, from, amx_row_bytes);
        place += term_bytes(rows);
    };
    if (layout().terms > 1) {
        terms_t terms;
        terms.split(reinterpret_cast<const float *>(row) + k);
        for (const auto &term : terms.of)
            copy(term, 2, 1);
    } else if (scales_sums() || !weights_.by_column) {
        copy(amx_row(row, 0) + k, 2, 1);
    } else {
        // A part has one nibble of each word of four: jit_amx_k_lanes.cpp.
        const dim_t part = k % amx_depth / part_depth;
        copy(amx_row(row, 0) + k / amx_depth * amx_depth + part, 8, 4);
    }
}

void amx_terms_t::pack(const void *from, dim_t pitch, dim_t rows, dim_t begin,
        dim_t end, void *packed) const noexcept {
    for (dim_t first = 0; first < rows; first += amx_most_rows) {
        const dim_t together = std::min<dim_t>(rows - first, amx_most_rows);
        const char *const src = static_cast<const char *>(from) + first * pitch;
        char *const to = static_cast<char *>(packed) + packed_bytes(first);
        if (layout().corrects_sums)
            sum_rows(src, pitch, together, begin * amx_depth, end * amx_depth,
                    to);
        for (dim_t k = begin * amx_depth; k < end * amx_depth; k += part_depth)
            for (dim_t r = 0; r < together; ++r)
                pack_part(src + r * pitch, k, together,
                        to + place_of(together, r, k));
    }
}

float amx_terms_t::src_element(
        const block_t &block, dim_t row, dim_t k) const noexcept {
    const dim_t first = row / amx_most_rows * amx_most_rows;
    const dim_t together = std::min<dim_t>(block.rows - first, amx_most_rows);
    const char *const term = static_cast<const char *>(block.a)
                             + packed_bytes(first)
                             + place_of(together, row - first, k);
    float sum = 0;
    for (dim_t t = layout().terms; t-- > 0;)
        sum += load_f32(data_type_t::bf16, term + t * term_bytes(together), 0);
    return sum;
}

void amx_terms_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    if (!is_of_many_rows()) {
        run_in_turns(buffers, block);
        return;
    }
    amx_many_rows_t::zero_sums(block);
    for (dim_t k = 0; k < weights_.depth; k += amx_many_rows_t::most_depth) {
        const amx_tiles_part_t part = many_rows_.part_of(block, k);
        make_tiles(buffers, block, part);
        many_rows_.multiply(block, buffers, part);
    }
    const float *sums = block.partial;
    for_rows(block, [&](const block_t &rows) {
        store_sums(rows, sums);
        sums += amx_most_rows * block.cols;
    });
}

void amx_terms_t::store_sums(
        const block_t &block, const float *sums) const noexcept {
    const dim_t pitch = room_of(block.rows);
    if (amx_has_columns(weights_)) {
        store_(sums, pitch, block.cols, block.rows, block.c, block.c_pitch);
        return;
    }
    constexpr dim_t cols = 2 * amx_tile_rows;
    for (dim_t r = 0; r < block.rows; ++r)
        for (dim_t n = 0; n < block.cols; n += cols)
            std::copy_n(sums + n * pitch + r * cols, cols,
                    block.c + r * block.c_pitch + n);
}

} // namespace dnnl_dequant
