#include "kernels/dequantize/jit_pack.hpp"

#include <algorithm>
#include <cstring>

#include <immintrin.h>

#include "base/prefetch.hpp"
#include "kernels/dequantize/jit_pack_columns.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

constexpr int block = 16;
// Columns that fill a vector, and the bytes between them by which so many lines
// still have half of an L1 of eight ways and 4 KiB a way.
constexpr dim_t vector_cols = 64, most_apart = 256;

__m128i load(const uint8_t *from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
}

void store(uint8_t *to, __m128i bytes) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bytes);
}

// GCC 12 warns of its own header, where what is undefined is masked away.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// Transposes a block of 16 columns of src by 64 (or 32) of its rows: sixteen
// vectors, each a column, whose 128-bit lanes go 16 x 16 bytes each. A round
// that interleaves the first half of the vectors with the second rotates the
// index bits; four rounds transpose.
//
// A column's whole cache line is read at once, so that columns a multiple of
// 4096 bytes apart, which meet in one set of the L1 cache, do no harm.

// The vectors must stay in registers; Clang unrolls by itself.
#if defined(__GNUC__) && !defined(__clang__)
#define DNNL_DEQUANT_UNROLL _Pragma("GCC unroll 16")
#else
#define DNNL_DEQUANT_UNROLL
#endif

__attribute__((target("avx512f,avx512bw"))) inline void interleave(
        __m512i (&to)[block], const __m512i (&from)[block]) {
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block / 2; ++i) {
        to[2 * i] = _mm512_unpacklo_epi8(from[i], from[i + block / 2]);
        to[2 * i + 1] = _mm512_unpackhi_epi8(from[i], from[i + block / 2]);
    }
}

template <int cache, typename columns_t>
__attribute__((target("avx512f,avx512bw"))) void transpose_64_rows(
        uint8_t *tile, dim_t pitch, columns_t columns, dim_t ahead) {
    __m512i a[block], b[block];
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        a[i] = _mm512_loadu_si512(columns[i]);
        // Prefetch the next line, which no hardware prefetcher foresees.
        prefetch_into<cache>(columns[i] + ahead);
    }
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        uint8_t *to = tile + i * pitch;
        store(to, _mm512_castsi512_si128(a[i]));
        store(to + 16 * pitch, _mm512_extracti32x4_epi32(a[i], 1));
        store(to + 32 * pitch, _mm512_extracti32x4_epi32(a[i], 2));
        store(to + 48 * pitch, _mm512_extracti32x4_epi32(a[i], 3));
    }
}

// 64 columns by 16 rows: a lane has columns of its own, brought there by loads,
// so that whole vectors are stored. Taking lanes out again to store them costs
// as much as a round.
__attribute__((target("avx512f,avx512bw"))) void transpose_16_rows(
        uint8_t *tile, dim_t pitch, const uint8_t *src, dim_t stride) {
    __m512i a[block], b[block];
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        const uint8_t *from = src + i * stride;
        const dim_t next = block * stride;
        a[i] = _mm512_castsi128_si512(load(from));
        a[i] = _mm512_inserti32x4(a[i], load(from + next), 1);
        a[i] = _mm512_inserti32x4(a[i], load(from + 2 * next), 2);
        a[i] = _mm512_inserti32x4(a[i], load(from + 3 * next), 3);
    }
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i)
        _mm512_storeu_si512(tile + i * pitch, a[i]);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

__attribute__((target("avx2"))) inline void interleave(
        __m256i (&to)[block], const __m256i (&from)[block]) {
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block / 2; ++i) {
        to[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + block / 2]);
        to[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + block / 2]);
    }
}

template <int cache, typename columns_t>
__attribute__((target("avx2"))) void transpose_32_rows(
        uint8_t *tile, dim_t pitch, columns_t columns, dim_t ahead) {
    __m256i a[block], b[block];
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        a[i] = _mm256_loadu_si256(
                reinterpret_cast<const __m256i *>(columns[i]));
        prefetch_into<cache>(columns[i] + ahead);
    }
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        uint8_t *to = tile + i * pitch;
        store(to, _mm256_castsi256_si128(a[i]));
        store(to + 16 * pitch, _mm256_extracti128_si256(a[i], 1));
    }
}

inline void interleave(__m128i (&to)[block], const __m128i (&from)[block]) {
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block / 2; ++i) {
        to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + block / 2]);
        to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + block / 2]);
    }
}

template <typename T>
uint64_t bits_at(const uint8_t *from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

// Fewer than 16 bytes, and none beyond them: in two halves that overlap.
inline __m128i load(const uint8_t *from, dim_t count) {
    const auto vector = [](uint64_t low, uint64_t high) {
        return _mm_set_epi64x(
                static_cast<int64_t>(high), static_cast<int64_t>(low));
    };
    if (count > 8)
        return vector(bits_at<uint64_t>(from),
                bits_at<uint64_t>(from + count - 8) >> (16 - count) * 8);
    if (count == 8) return vector(bits_at<uint64_t>(from), 0);
    if (count >= 4)
        return vector(bits_at<uint32_t>(from)
                              | bits_at<uint32_t>(from + count - 4)
                                        << (count - 4) * 8,
                0);
    uint64_t bits = 0;
    for (dim_t i = 0; i < count; ++i)
        bits |= uint64_t {from[i]} << i * 8;
    return vector(bits, 0);
}

// Writes the first `rows` of 16 rows, of whose columns these are 16.
inline void transpose_and_store(
        uint8_t *tile, dim_t pitch, __m128i (&a)[block], dim_t rows) {
    __m128i b[block];
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        if (i == rows) return;
        store(tile + i * pitch, a[i]);
    }
}

// Fewer rows than a vector has, such as those of a short group.
template <typename columns_t>
[[gnu::noinline]] void transpose_few_rows(
        uint8_t *tile, dim_t pitch, const columns_t &columns, dim_t rows) {
    __m128i a[block];
    dim_t r = 0;
    for (; r + block <= rows; r += block) {
        DNNL_DEQUANT_UNROLL
        for (int i = 0; i < block; ++i)
            a[i] = load(columns[i] + r);
        transpose_and_store(tile + r * pitch, pitch, a, block);
    }
    if (r == rows) return;
    for (int i = 0; i < block; ++i)
        a[i] = load(columns[i] + r, rows - r);
    transpose_and_store(tile + r * pitch, pitch, a, rows - r);
}

template <typename columns_t>
__attribute__((target("avx512f,avx512bw,avx512vl"))) void
transpose_few_rows_by_masks(
        uint8_t *tile, dim_t pitch, const columns_t &columns, dim_t rows) {
    for (dim_t r = 0; r < rows; r += block) {
        const dim_t count = std::min<dim_t>(block, rows - r);
        const auto mask = static_cast<__mmask16>((1u << count) - 1u);
        __m128i a[block];
        DNNL_DEQUANT_UNROLL
        for (int i = 0; i < block; ++i)
            a[i] = _mm_maskz_loadu_epi8(mask, columns[i] + r);
        transpose_and_store(tile + r * pitch, pitch, a, count);
    }
}

// Packs columns of a source in the caches, up to the last whole vector. Returns
// their number.
dim_t pack_vectors(uint8_t *tile, dim_t pitch, const uint8_t *src, dim_t stride,
        dim_t rows, dim_t cols) {
    const bool meet = (stride & -stride) > most_apart;
    const dim_t whole_cols = meet ? 0 : cols - cols % vector_cols;
    const dim_t whole_rows = rows - rows % block;
    for (dim_t c = 0; c < whole_cols; c += vector_cols)
        for (dim_t r = 0; r < whole_rows; r += block)
            transpose_16_rows(
                    tile + r * pitch + c, pitch, src + c * stride + r, stride);
    for (dim_t c = 0; c < whole_cols; ++c)
        for (dim_t r = whole_rows; r < rows; ++r)
            tile[r * pitch + c] = src[c * stride + r];
    return whole_cols;
}

template <typename columns_t>
void pack_columns(uint8_t *tile, dim_t pitch, const transposed_src_t &src,
        bool is_avx512, dim_t ahead) {
    using block_t = typename columns_t::block_t;
    const bool to_l2 = this_machine().policy.prefetches_tiles_into_l2;
    const auto transpose_64 = to_l2 ? transpose_64_rows<2, block_t>
                                    : transpose_64_rows<1, block_t>;
    const auto transpose_32 = to_l2 ? transpose_32_rows<2, block_t>
                                    : transpose_32_rows<1, block_t>;
    columns_t along(src);
    const auto transpose_rest = is_avx512 ? transpose_few_rows_by_masks<block_t>
                                          : transpose_few_rows<block_t>;
    const dim_t rows = src.rows;
    dim_t c = 0;
    for (; c + block <= src.cols; c += block, tile += block) {
        const block_t columns = along.next();
        dim_t r = 0;
        for (; is_avx512 && r + 64 <= rows; r += 64)
            transpose_64(tile + r * pitch, pitch, columns.from_row(r), ahead);
        for (; r + 32 <= rows; r += 32)
            transpose_32(tile + r * pitch, pitch, columns.from_row(r), ahead);
        if (r < rows)
            transpose_rest(
                    tile + r * pitch, pitch, columns.from_row(r), rows - r);
    }
    const block_t columns = along.next();
    for (int i = 0; c + i < src.cols; ++i)
        for (dim_t r = 0; r < rows; ++r)
            tile[r * pitch + i] = columns[i][r];
}

} // namespace

void pack_transposed(uint8_t *tile, dim_t pitch, const transposed_src_t &from,
        isa_t isa, dim_t ahead) {
    const bool is_avx512 = has(isa, isa_avx512_core);
    transposed_src_t src = from;
    if (ahead == in_cache) {
        if (is_avx512 && src.group == 0) {
            const auto *bytes = static_cast<const uint8_t *>(src.data);
            const dim_t done = pack_vectors(
                    tile, pitch, bytes, src.stride, src.rows, src.cols);
            tile += done;
            src.data = bytes + done * src.stride;
            src.cols -= done;
        }
        ahead = src.columns_ahead(block);
    }
    const auto pack = src.group == 0
                              ? pack_columns<even_columns_t<uint8_t, block>>
                              : pack_columns<grouped_columns_t<uint8_t, block>>;
    pack(tile, pitch, src, is_avx512, ahead);
}

void pack_gathered(void *tile, dim_t pitch, const gathered_src_t &src) {
    const auto *bytes = static_cast<const uint8_t *>(src.data);
    const dim_t cols = src.cols, col_stride = src.col_stride;
    for (dim_t r = 0; r < src.rows; ++r) {
        dim_t from = src.first + r * src.row_stride;
        uint8_t *to = static_cast<uint8_t *>(tile) + r * pitch;
        if (src.bits == 8)
            for (dim_t c = 0; c < cols; ++c, from += col_stride)
                to[c] = bytes[from];
        else
            for (dim_t c = 0; c < cols; ++c, from += col_stride)
                to[c] = static_cast<uint8_t>(
                        bytes[from >> 1] >> (from & 1) * 4);
    }
}

void pack_nibbles(uint8_t *tile, const void *src, dim_t first, dim_t cols) {
    const uint8_t *bytes = static_cast<const uint8_t *>(src) + (first >> 1);
    dim_t c = 0;
    if (first % 2 != 0 && cols != 0) tile[c++] = *bytes++ >> 4;
    for (; c + 2 * block <= cols; c += 2 * block, bytes += block) {
        const __m128i low = load(bytes);
        const __m128i high = _mm_srli_epi16(low, 4);
        store(tile + c, _mm_unpacklo_epi8(low, high));
        store(tile + c + block, _mm_unpackhi_epi8(low, high));
    }
    for (; c < cols; c += 2, ++bytes) {
        tile[c] = *bytes;
        if (c + 1 < cols) tile[c + 1] = *bytes >> 4;
    }
}

} // namespace dnnl_dequant
