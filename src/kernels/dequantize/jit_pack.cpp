#include "kernels/dequantize/jit_pack.hpp"

#if defined(__x86_64__)

#include <emmintrin.h>

namespace dnnl_dequant {

namespace {

constexpr int block = 16;

__m128i load(const uint8_t *from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
}

void store(uint8_t *to, __m128i bytes) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bytes);
}

// Interleaving the first half with the second is a rotation of the index
// bits; four of them transpose 16 x 16 bytes.
void interleave_halves(__m128i (&to)[block], const __m128i (&from)[block]) {
    for (int i = 0; i < block / 2; ++i) {
        to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + block / 2]);
        to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + block / 2]);
    }
}

void transpose_block(
        uint8_t *tile, dim_t pitch, const uint8_t *src, dim_t stride) {
    __m128i a[block], b[block];
    for (int i = 0; i < block; ++i)
        a[i] = load(src + i * stride);
    interleave_halves(b, a);
    interleave_halves(a, b);
    interleave_halves(b, a);
    interleave_halves(a, b);
    for (int i = 0; i < block; ++i)
        store(tile + i * pitch, a[i]);
}

void transpose_scalar(uint8_t *tile, dim_t pitch, const uint8_t *src,
        dim_t stride, dim_t rows, dim_t cols) {
    for (dim_t c = 0; c < cols; ++c)
        for (dim_t r = 0; r < rows; ++r)
            tile[r * pitch + c] = src[c * stride + r];
}

} // namespace

void pack_transposed(uint8_t *tile, dim_t pitch, const uint8_t *src,
        dim_t stride, dim_t rows, dim_t cols) {
    const dim_t block_rows = rows - rows % block;
    const dim_t block_cols = cols - cols % block;
    for (dim_t c = 0; c < block_cols; c += block)
        for (dim_t r = 0; r < block_rows; r += block)
            transpose_block(
                    tile + r * pitch + c, pitch, src + c * stride + r, stride);
    // The rows left over, then the columns.
    transpose_scalar(tile + block_rows * pitch, pitch, src + block_rows, stride,
            rows - block_rows, block_cols);
    transpose_scalar(tile + block_cols, pitch, src + block_cols * stride,
            stride, rows, cols - block_cols);
}

void pack_gathered(uint8_t *tile, dim_t pitch, const void *src, int bits,
        dim_t first, dim_t row_stride, dim_t col_stride, dim_t rows,
        dim_t cols) {
    const auto *bytes = static_cast<const uint8_t *>(src);
    for (dim_t r = 0; r < rows; ++r) {
        dim_t from = first + r * row_stride;
        uint8_t *to = tile + r * pitch;
        if (bits == 8)
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

#endif
