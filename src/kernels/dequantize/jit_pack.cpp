#include "kernels/dequantize/jit_pack.hpp"

#include <immintrin.h>

#include "base/prefetch.hpp"
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

template <int cache>
__attribute__((target("avx512f,avx512bw"))) void transpose_64_rows(
        uint8_t *tile, dim_t pitch, const uint8_t *src, dim_t stride,
        dim_t ahead) {
    __m512i a[block], b[block];
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        a[i] = _mm512_loadu_si512(src + i * stride);
        // Prefetch the next line, which no hardware prefetcher foresees.
        prefetch_into<cache>(src + i * stride + ahead);
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

template <int cache>
__attribute__((target("avx2"))) void transpose_32_rows(uint8_t *tile,
        dim_t pitch, const uint8_t *src, dim_t stride, dim_t ahead) {
    __m256i a[block], b[block];
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block; ++i) {
        a[i] = _mm256_loadu_si256(
                reinterpret_cast<const __m256i *>(src + i * stride));
        prefetch_into<cache>(src + i * stride + ahead);
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

void transpose_scalar(uint8_t *tile, dim_t pitch, const uint8_t *src,
        dim_t stride, dim_t rows, dim_t cols) {
    for (dim_t c = 0; c < cols; ++c)
        for (dim_t r = 0; r < rows; ++r)
            tile[r * pitch + c] = src[c * stride + r];
}

inline void interleave(__m128i (&to)[block], const __m128i (&from)[block]) {
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < block / 2; ++i) {
        to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + block / 2]);
        to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + block / 2]);
    }
}

// Fewer rows than a vector has, such as those of a short group.
[[gnu::noinline]] void transpose_few_rows(uint8_t *tile, dim_t pitch,
        const uint8_t *src, dim_t stride, dim_t rows, dim_t whole_cols) {
    const dim_t whole_rows = rows - rows % block;
    for (dim_t c = 0; c < whole_cols; c += block)
        for (dim_t r = 0; r < whole_rows; r += block) {
            __m128i a[block], b[block];
            DNNL_DEQUANT_UNROLL
            for (int i = 0; i < block; ++i)
                a[i] = load(src + (c + i) * stride + r);
            interleave(b, a);
            interleave(a, b);
            interleave(b, a);
            interleave(a, b);
            DNNL_DEQUANT_UNROLL
            for (int i = 0; i < block; ++i)
                store(tile + (r + i) * pitch + c, a[i]);
        }
    transpose_scalar(tile + whole_rows * pitch, pitch, src + whole_rows, stride,
            rows - whole_rows, whole_cols);
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
    transpose_scalar(tile + whole_rows * pitch, pitch, src + whole_rows, stride,
            rows - whole_rows, whole_cols);
    return whole_cols;
}

} // namespace

void pack_transposed(uint8_t *tile, dim_t pitch, const transposed_src_t &from,
        isa_t isa, dim_t ahead) {
    const auto *src = static_cast<const uint8_t *>(from.data);
    const dim_t stride = from.stride, rows = from.rows;
    dim_t cols = from.cols;
    const bool is_avx512 = has(isa, isa_avx512_core);
    if (ahead == in_cache) {
        const dim_t done
                = is_avx512 ? pack_vectors(tile, pitch, src, stride, rows, cols)
                            : 0;
        tile += done;
        src += done * stride;
        cols -= done;
        ahead = block * stride;
    }
    const bool to_l2 = this_machine().policy.prefetches_tiles_into_l2;
    const dim_t whole_cols = cols - cols % block;
    dim_t done = 0; // rows
    const auto take = [&](dim_t block_rows, auto transpose) {
        const dim_t end = done + (rows - done) / block_rows * block_rows;
        for (dim_t c = 0; c < whole_cols; c += block)
            for (dim_t r = done; r < end; r += block_rows)
                transpose(tile + r * pitch + c, pitch, src + c * stride + r,
                        stride, ahead);
        done = end;
    };
    if (is_avx512)
        take(64, to_l2 ? transpose_64_rows<2> : transpose_64_rows<1>);
    take(32, to_l2 ? transpose_32_rows<2> : transpose_32_rows<1>);
    // The rows left over, then the columns.
    if (done < rows)
        transpose_few_rows(tile + done * pitch, pitch, src + done, stride,
                rows - done, whole_cols);
    transpose_scalar(tile + whole_cols, pitch, src + whole_cols * stride,
            stride, rows, cols - whole_cols);
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
