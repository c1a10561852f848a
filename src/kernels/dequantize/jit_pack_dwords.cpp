#include "kernels/dequantize/jit_pack_dwords.hpp"

#include <immintrin.h>

#include "base/prefetch.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

// The vectors must stay in registers; Clang unrolls by itself.
#if defined(__GNUC__) && !defined(__clang__)
#define DNNL_DEQUANT_UNROLL _Pragma("GCC unroll 16")
#else
#define DNNL_DEQUANT_UNROLL
#endif

constexpr int fours = 4;

// GCC 12 warns of its own header, where what is undefined is masked away.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// Transposes 4 x 4 dwords in each 128 bits.
__attribute__((target("avx512f"))) inline void transpose_in_lanes(
        __m512i *to, const __m512i *from) {
    const __m512i a = _mm512_unpacklo_epi32(from[0], from[1]);
    const __m512i b = _mm512_unpackhi_epi32(from[0], from[1]);
    const __m512i c = _mm512_unpacklo_epi32(from[2], from[3]);
    const __m512i d = _mm512_unpackhi_epi32(from[2], from[3]);
    to[0] = _mm512_unpacklo_epi64(a, c);
    to[1] = _mm512_unpackhi_epi64(a, c);
    to[2] = _mm512_unpacklo_epi64(b, d);
    to[3] = _mm512_unpackhi_epi64(b, d);
}

// Transposes 4 x 4 lanes of 128 bits and stores a vector every four rows.
__attribute__((target("avx512f"))) inline void store_lanes(
        uint8_t *to, dim_t pitch, __m512i a, __m512i b, __m512i c, __m512i d) {
    constexpr int low = 0x44, high = 0xee, even = 0x88, odd = 0xdd;
    const __m512i ab_low = _mm512_shuffle_i64x2(a, b, low);
    const __m512i ab_high = _mm512_shuffle_i64x2(a, b, high);
    const __m512i cd_low = _mm512_shuffle_i64x2(c, d, low);
    const __m512i cd_high = _mm512_shuffle_i64x2(c, d, high);
    _mm512_storeu_si512(to, _mm512_shuffle_i64x2(ab_low, cd_low, even));
    _mm512_storeu_si512(
            to + fours * pitch, _mm512_shuffle_i64x2(ab_low, cd_low, odd));
    _mm512_storeu_si512(to + 2 * fours * pitch,
            _mm512_shuffle_i64x2(ab_high, cd_high, even));
    _mm512_storeu_si512(to + 3 * fours * pitch,
            _mm512_shuffle_i64x2(ab_high, cd_high, odd));
}

template <int cache>
__attribute__((target("avx512f"))) void pack_block(uint8_t *tile, dim_t pitch,
        const uint8_t *src, dim_t stride, dim_t ahead) {
    constexpr auto cols = static_cast<int>(dword_block_cols);
    __m512i a[cols], b[cols];
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < cols; ++i) {
        const uint8_t *column = src + i * stride;
        a[i] = _mm512_loadu_si512(column);
        prefetch_into<cache>(column + ahead);
    }
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < cols; i += fours)
        transpose_in_lanes(b + i, a + i);
    DNNL_DEQUANT_UNROLL
    for (int i = 0; i < fours; ++i)
        store_lanes(tile + i * pitch, pitch, b[i], b[fours + i],
                b[2 * fours + i], b[3 * fours + i]);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

} // namespace

void pack_dwords(uint8_t *tile, dim_t pitch, const transposed_src_t &bytes,
        dim_t ahead) {
    const auto pack = this_machine().policy.prefetches_tiles_into_l2
                              ? pack_block<2>
                              : pack_block<1>;
    const auto *src = static_cast<const uint8_t *>(bytes.data);
    const dim_t stride = bytes.stride;
    constexpr dim_t vector_bytes = 4 * dword_block_cols;
    for (dim_t c = 0; c < bytes.cols; c += dword_block_cols) {
        for (dim_t r = 0; r < bytes.rows; r += dword_block_rows)
            pack(tile + r / fours * pitch, pitch, src + r, stride, ahead);
        src += dword_block_cols * stride;
        tile += vector_bytes;
    }
}

} // namespace dnnl_dequant
