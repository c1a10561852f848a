// Rows of f32 as three bf16 for each element, or rows of bf16, packed for the
// tiles of AMX.
//
//   for each 32 rows: for each 32 of depth (a part): for each term:
//       for each 16 of the rows (a tile): for each pair of the depth:
//           for each row: two bf16
//
// Or a tile has a row's elements in each line.
// The places of missing rows may hold anything.

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

// Copies a term's part to a line of a tile, or its pairs to the lines.
void copy_part(amx_src_t src, const uint16_t *from, char *to) {
    const dim_t size = src == amx_src_t::rows ? part_depth : 2;
    for (dim_t k = 0; k < part_depth; k += size, to += amx_row_bytes)
        std::copy_n(reinterpret_cast<const char *>(from + k), 2 * size, to);
}

// The place of an element of a row, in the tiles of a term.
dim_t place_of(amx_src_t src, dim_t row, dim_t k) {
    if (src == amx_src_t::rows) return row * amx_row_bytes + 2 * k;
    return row / amx_tile_rows * amx_tile_bytes + row % amx_tile_rows * 4
           + k / 2 * amx_row_bytes + k % 2 * 2;
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

dim_t amx_terms_t::packed_bytes(dim_t rows) const {
    const dim_t sums
            = layout().corrects_sums ? weights_.depth / sum_depth() : 0;
    return data_bytes(rows) + sums * round_up(rows, amx_tile_rows) * 4;
}

// The sums of src come behind the tiles of each block of rows.
void amx_terms_t::sum_rows(const char *from, dim_t pitch, dim_t rows,
        dim_t begin, dim_t end, char *packed) const noexcept {
    const dim_t depth = sum_depth();
    const dim_t padded = round_up(rows, amx_tile_rows);
    auto *const sums = reinterpret_cast<float *>(packed + data_bytes(rows));
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t k = begin; k < end; k += depth) {
            const uint16_t *const values = amx_row(from, r * pitch) + k;
            sums[k / depth * padded + r] = sum_of(values, depth);
        }
}

// Packs a part of a row: the terms of f32, or bf16 as they are.
void amx_terms_t::pack_part(const char *row, dim_t k, dim_t term_bytes,
        char *place) const noexcept {
    if (layout().terms == 1) {
        copy_part(src_, amx_row(row, 0) + k, place);
        return;
    }
    terms_t terms;
    terms.split(reinterpret_cast<const float *>(row) + k);
    for (const auto &term : terms.of) {
        copy_part(src_, term, place);
        place += term_bytes;
    }
}

void amx_terms_t::pack(const void *from, dim_t pitch, dim_t rows, dim_t begin,
        dim_t end, void *packed) const noexcept {
    const dim_t count = layout().terms;
    for (dim_t first = 0; first < rows; first += amx_most_rows) {
        const dim_t tiles = amx_src_tiles(rows - first);
        const dim_t term_bytes = tiles * amx_tile_bytes;
        char *const block = static_cast<char *>(packed) + packed_bytes(first);
        if (layout().corrects_sums)
            sum_rows(static_cast<const char *>(from) + first * pitch, pitch,
                    std::min(rows - first, amx_most_rows), begin * amx_depth,
                    end * amx_depth, block);
        char *to = block + begin * amx_parts * count * term_bytes;
        for (dim_t k = begin * amx_depth; k < end * amx_depth;
                k += part_depth, to += count * term_bytes)
            for (dim_t r = 0; r < std::min(rows - first, amx_most_rows); ++r)
                pack_part(static_cast<const char *>(from) + (first + r) * pitch,
                        k, term_bytes, to + place_of(src_, r, 0));
    }
}

float amx_terms_t::src_element(
        const block_t &block, dim_t row, dim_t k) const noexcept {
    const dim_t count = layout().terms;
    const dim_t first = row / amx_most_rows * amx_most_rows;
    const dim_t term_bytes = amx_src_tiles(block.rows - first) * amx_tile_bytes;
    const char *const part = static_cast<const char *>(block.a)
                             + packed_bytes(first)
                             + k / part_depth * count * term_bytes
                             + place_of(src_, row - first, k % part_depth);
    float sum = 0;
    for (dim_t t = count; t-- > 0;)
        sum += load_f32(data_type_t::bf16, part + t * term_bytes, 0);
    return sum;
}

result_t amx_terms_t::init(dim_t rows) {
    most_rows_ = rows;
    const skinny_weights_t &w = weights_;
    if (w.zps.type == data_type_t::undef) return {};
    constexpr int64_t most = 256; // of the integers that bf16 holds
    const int_range_t weights = range_of(w.type), zps = range_of(w.zps.type);
    if (weights.highest - zps.lowest > most
            || zps.highest - weights.lowest > most)
        return refuse("weights less zero points do not fit bf16");
    return {};
}

} // namespace dnnl_dequant
