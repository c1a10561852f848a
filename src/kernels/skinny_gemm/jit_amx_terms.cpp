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
#include <cstddef>
#include <cstring>
#include <numeric>

#include "base/bits.hpp"
#include "base/convert.hpp"
#include "kernels/jit/transpose_dwords.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

// The sums of columns x rows, as tiles of AMX have them, and the rows of c that
// they are stored to.
struct amx_store_args_t {
    const float *sums;
    dim_t pitch; // from column to column, bytes
    float *c;
    dim_t c_pitch; // from row to row, bytes
    dim_t rows;    // 1 to 16
    dim_t panels;  // of sixteen columns
};

namespace {

constexpr dim_t part_depth = amx_row_bytes / 2;
// A term has eight of the 24 bits of an f32.
constexpr int f32_terms = 3;

// Returns a row of bf16, so many bytes behind the first one.
const uint16_t *row_of(const char *first, dim_t bytes) {
    return reinterpret_cast<const uint16_t *>(first + bytes);
}

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

// Copies a part of a term to a line of a tile, or its pairs to the lines. Sizes
// are constant, so that the compiler makes single moves of them.
void copy_part(bool has_columns, const uint16_t *from, char *to) {
    if (!has_columns) {
        std::memcpy(to, from, amx_row_bytes);
        return;
    }
    for (dim_t k = 0; k < part_depth; k += 2, to += amx_row_bytes)
        std::memcpy(to, from + k, 4);
}

// Copies a part of rows of bf16 to the lines of a tile. Pairs have elements
// half a step apart.
template <dim_t step>
void copy_pairs(const uint16_t *from, dim_t pitch, dim_t rows, dim_t line_bytes,
        char *to) {
    for (dim_t i = 0; i < part_depth / 2; ++i, from += step, to += line_bytes) {
        const uint16_t *of_row = from;
        for (dim_t r = 0; r < rows; ++r, of_row += pitch) {
            const uint16_t pair[] = {of_row[0], of_row[step / 2]};
            std::memcpy(to + 4 * r, pair, sizeof(pair));
        }
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

// Registers:
//     rdi      arguments
//     rsi rdx  sums and their pitch
//     r8 r9    c and its pitch
//     rcx      panels to go
//     rax r10  a row, and rows to go
class store_generator_t : public jit_generator_t {
public:
    store_generator_t()
        : jit_generator_t("jit_amx_store") {}

private:
    static constexpr int lanes = amx_tile_rows;

    Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() override {
        Label l_panel;
        preamble();
        mov(rsi, arg(offsetof(amx_store_args_t, sums)));
        mov(rdx, arg(offsetof(amx_store_args_t, pitch)));
        mov(r8, arg(offsetof(amx_store_args_t, c)));
        mov(r9, arg(offsetof(amx_store_args_t, c_pitch)));
        mov(rcx, arg(offsetof(amx_store_args_t, panels)));
        L(l_panel);
        for (int i = 0; i < lanes; ++i) {
            vmovups(Zmm(i), ptr[rsi]);
            add(rsi, rdx);
        }
        transpose_dwords(*this);
        store_rows();
        add(r8, static_cast<uint32_t>(lanes * sizeof(float)));
        dec(rcx);
        jnz(l_panel, T_NEAR);
        postamble();
    }

    void store_rows() {
        Label l_end;
        mov(rax, r8);
        mov(r10, arg(offsetof(amx_store_args_t, rows)));
        for (int i = 0; i < lanes; ++i) {
            vmovups(ptr[rax], Zmm(i));
            if (i + 1 == lanes) break;
            dec(r10);
            jz(l_end, T_NEAR);
            add(rax, r9);
        }
        L(l_end);
    }
};

} // namespace

result_t amx_terms_t::make_store() {
    return make_jit_as<store_generator_t>(store_);
}

result_t amx_terms_t::init(dim_t rows) {
    const skinny_weights_t &w = weights_;
    const bool has_zps = w.zps.type != data_type_t::undef;
    most_rows_ = rows;
    if (w.multiplied == data_type_t::bf16) {
        if (is_of_many_rows())
            return refuse("tiles that are made for many rows are not scaled");
        layout_ = {1, !amx_has_columns(w), false};
        return {};
    }
    const bool is_whole = w.tiles == skinny_tiles_t::integers;
    layout_ = {is_whole ? 1 : f32_terms, true, true,
            is_whole && w.are_nibbles() && has_zps && !is_of_many_rows()};
    if (!has_zps) return {};
    constexpr int64_t most = 256; // of the integers that bf16 holds
    const int_range_t weights = range_of(w.type), zps = range_of(w.zps.type);
    if (weights.highest - zps.lowest > most
            || zps.highest - weights.lowest > most)
        return refuse("weights less zero points do not fit bf16");
    return {};
}

dim_t amx_terms_t::packed_bytes(dim_t rows) const {
    const dim_t sums = layout_.corrects_sums ? weights_.depth / sum_depth() : 0;
    return data_bytes(rows) + sums * room_of(rows) * 4;
}

// The sums of src come behind the tiles of each block of rows.
void amx_terms_t::sum_rows(const char *from, dim_t pitch, dim_t rows,
        dim_t begin, dim_t end, char *packed) const noexcept {
    const dim_t depth = sum_depth();
    auto *const sums = reinterpret_cast<float *>(packed + data_bytes(rows));
    for (dim_t r = 0; r < rows; ++r)
        for (dim_t k = begin; k < end; k += depth) {
            const uint16_t *const values = row_of(from, r * pitch) + k;
            sums[k / depth * room_of(rows) + r] = sum_of(values, depth);
        }
}

const float *amx_terms_t::src_sums(const block_t &block) const {
    if (!layout_.corrects_sums) return nullptr;
    return reinterpret_cast<const float *>(
            static_cast<const char *>(block.a) + data_bytes(block.rows));
}

// The place of an element in a block of rows: that of its first term.
dim_t amx_terms_t::place_of(dim_t rows, dim_t row, dim_t k) const {
    if (is_of_words()) {
        const dim_t within = k % amx_depth;
        k += within % amx_parts * part_depth + within / 8 * 2 + within % 8 / 4
             - within;
    }
    const dim_t at = k % part_depth;
    const dim_t part = (k - at) * depth_bytes(rows);
    if (!amx_has_columns(weights_)) return part + row * amx_row_bytes + 2 * at;
    const dim_t tile = row / amx_tile_rows;
    const dim_t tile_pitch
            = layout_.are_padded ? amx_tile_bytes : amx_row_bytes;
    return part + tile * tile_pitch + row % amx_tile_rows * 4
           + at / 2 * line_bytes(rows) + at % 2 * 2;
}

// Packs a part of rows, from element `k` on: pairs of bf16.
void amx_terms_t::pack_pairs(const char *src, dim_t pitch, dim_t rows, dim_t k,
        char *to) const noexcept {
    if (is_of_words()) k += k % amx_depth / part_depth - k % amx_depth;
    const dim_t line = line_bytes(rows);
    const dim_t together = layout_.are_padded ? amx_tile_rows : amx_most_rows;
    for (dim_t r = 0; r < rows; r += together, to += amx_tile_bytes) {
        const uint16_t *const from = row_of(src, r * pitch) + k;
        const dim_t count = std::min(rows - r, together);
        if (is_of_words()) copy_pairs<8>(from, pitch / 2, count, line, to);
        else copy_pairs<2>(from, pitch / 2, count, line, to);
    }
}

// The same of the terms of f32.
void amx_terms_t::pack_terms(const char *src, dim_t pitch, dim_t rows, dim_t k,
        char *to) const noexcept {
    const bool has_columns = amx_has_columns(weights_);
    const dim_t term = term_bytes(rows);
    for (dim_t r = 0; r < rows; ++r) {
        char *const first = to + place_of(rows, r, 0);
        terms_t terms;
        terms.split(reinterpret_cast<const float *>(src + r * pitch) + k);
        for (dim_t t = 0; t < f32_terms; ++t)
            copy_part(has_columns, terms.of[t], first + t * term);
    }
}

void amx_terms_t::pack(const void *from, dim_t pitch, dim_t rows, dim_t begin,
        dim_t end, void *packed) const noexcept {
    begin *= amx_depth;
    end *= amx_depth;
    for (dim_t first = 0; first < rows; first += amx_most_rows) {
        const dim_t together = std::min<dim_t>(rows - first, amx_most_rows);
        const char *const src = static_cast<const char *>(from) + first * pitch;
        char *const block = static_cast<char *>(packed) + packed_bytes(first);
        if (layout_.corrects_sums)
            sum_rows(src, pitch, together, begin, end, block);
        const dim_t part_bytes = part_depth * depth_bytes(together);
        char *to = block + begin * depth_bytes(together);
        for (dim_t k = begin; k < end; k += part_depth, to += part_bytes)
            if (layout_.terms > 1) pack_terms(src, pitch, together, k, to);
            else if (amx_has_columns(weights_))
                pack_pairs(src, pitch, together, k, to);
            else
                for (dim_t r = 0; r < together; ++r)
                    copy_part(false, row_of(src, r * pitch) + k,
                            to + r * amx_row_bytes);
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
    for (dim_t t = layout_.terms; t-- > 0;)
        sum += load_f32(data_type_t::bf16, term + t * term_bytes(together), 0);
    return sum;
}

void amx_terms_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    if (is_of_many_rows()) run_many_rows(buffers, block);
    else run_in_turns(buffers, block);
}

void amx_terms_t::store_sums(
        const block_t &block, const float *sums) const noexcept {
    const dim_t pitch = room_of(block.rows);
    if (!amx_has_columns(weights_)) {
        constexpr dim_t cols = amx_panel_cols;
        for (dim_t r = 0; r < block.rows; ++r)
            for (dim_t n = 0; n < block.cols; n += cols)
                std::copy_n(sums + n * pitch + r * cols, cols,
                        block.c + r * block.c_pitch + n);
        return;
    }
    for (dim_t row = 0; row < block.rows; row += amx_tile_rows) {
        amx_store_args_t args {sums + row, pitch * 4,
                block.c + row * block.c_pitch, block.c_pitch * 4,
                std::min<dim_t>(block.rows - row, amx_tile_rows),
                block.cols / amx_tile_rows};
        store_(args);
    }
}

} // namespace dnnl_dequant
