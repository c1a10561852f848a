// Rows of f32 as three bf16 for each element, packed for the tiles of AMX.
//
//   for each 32 rows: for each 32 of depth (a part): for each term:
//       for each 16 of the rows (a tile): for each pair of the depth:
//           for each row: two bf16
//
// Or a tile has a row's elements in each line.
// The places of missing rows may hold anything.

#include "kernels/skinny_gemm/jit_amx_terms.hpp"

#include <cstring>

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
    // Copies a term's pairs to the lines of a tile.
    void copy_pairs(int term, char *to) const {
        constexpr dim_t pair = 2;
        for (dim_t k = 0; k < part_depth; k += pair, to += amx_row_bytes)
            std::memcpy(to, of[term] + k, pair * sizeof(uint16_t));
    }
    void copy_row(int term, char *to) const {
        std::memcpy(to, of[term], sizeof(of[term]));
    }
};

// The place of an element of a row, in the tiles of a term.
dim_t place_of(amx_src_t src, dim_t row, dim_t k) {
    if (src == amx_src_t::rows) return row * amx_row_bytes + 2 * k;
    return row / amx_tile_rows * amx_tile_bytes + row % amx_tile_rows * 4
           + k / 2 * amx_row_bytes + k % 2 * 2;
}

} // namespace

dim_t amx_terms_t::packed_bytes(dim_t rows) const {
    return f32_terms * bytes_of(data_type_t::bf16, weights_.depth)
           * round_up(rows, amx_tile_rows);
}

void amx_terms_t::pack(const void *from, dim_t pitch, dim_t rows, dim_t begin,
        dim_t end, void *packed) const noexcept {
    for (dim_t first = 0; first < rows; first += amx_most_rows) {
        const dim_t tiles = amx_src_tiles(rows - first);
        const dim_t term_bytes = tiles * amx_tile_bytes;
        char *to = static_cast<char *>(packed) + packed_bytes(first)
                   + begin * amx_parts * f32_terms * term_bytes;
        for (dim_t k = begin * amx_depth; k < end * amx_depth;
                k += part_depth, to += f32_terms * term_bytes)
            for (dim_t r = 0; r < std::min(rows - first, amx_most_rows); ++r) {
                const auto *const row = reinterpret_cast<const float *>(
                        static_cast<const char *>(from) + (first + r) * pitch);
                terms_t terms;
                terms.split(row + k);
                char *place = to + place_of(src_, r, 0);
                for (int t = 0; t < f32_terms; ++t, place += term_bytes)
                    if (src_ == amx_src_t::rows) terms.copy_row(t, place);
                    else terms.copy_pairs(t, place);
            }
    }
}

float amx_terms_t::src_element(
        const block_t &block, dim_t row, dim_t k) const noexcept {
    const dim_t first = row / amx_most_rows * amx_most_rows;
    const dim_t term_bytes = amx_src_tiles(block.rows - first) * amx_tile_bytes;
    const char *const part = static_cast<const char *>(block.a)
                             + packed_bytes(first)
                             + k / part_depth * f32_terms * term_bytes
                             + place_of(src_, row - first, k % part_depth);
    float sum = 0;
    for (dim_t t = f32_terms; t-- > 0;)
        sum += load_f32(data_type_t::bf16, part + t * term_bytes, 0);
    return sum;
}

result_t amx_terms_t::check() const {
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
