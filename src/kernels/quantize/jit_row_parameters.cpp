#include "kernels/quantize/jit_row_parameters.hpp"

#include <algorithm>

#include "kernels/jit/avx512_intrinsics.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t simd_w = 16;
constexpr uint8_t is_nan = 3; // of comparisons: unordered

// Numbers of type src, in the low bits of each lane, as f32.
DNNL_DEQUANT_AVX512 __m512 as_f32(data_type_t src, const float *bits) {
    const __m512i lanes = _mm512_load_si512(bits);
    if (src == data_type_t::f32) return _mm512_castsi512_ps(lanes);
    if (src == data_type_t::bf16)
        return _mm512_castsi512_ps(_mm512_slli_epi32(lanes, 16));
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(lanes));
}

// The magnitudes of what is negative; 0 for the rest.
DNNL_DEQUANT_AVX512 __m512 if_negative(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i magnitude
            = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    return _mm512_castsi512_ps(
            _mm512_maskz_mov_epi32(_mm512_movepi32_mask(bits), magnitude));
}

// Width in steps; 1 for nothing but zeros.
DNNL_DEQUANT_AVX512 __m512 scales_of(__m512 width, float steps) {
    const __m512 all = _mm512_set1_ps(steps);
    const __mmask16 is_zero
            = _mm512_cmp_ps_mask(width, _mm512_setzero_ps(), _CMP_EQ_OQ);
    return _mm512_div_ps(_mm512_mask_mov_ps(width, is_zero, all), all);
}

DNNL_DEQUANT_AVX512 __m512i zps_of(__m512 below, __m512 scales, bool is_u8) {
    const __m512 lowest = _mm512_set1_ps(is_u8 ? 0.f : -127.f);
    const __m512 highest = _mm512_set1_ps(is_u8 ? 255.f : 127.f);
    __m512 zps = _mm512_add_ps(lowest, _mm512_div_ps(below, scales));
    const __mmask16 is_number = _mm512_cmp_ps_mask(zps, zps, _CMP_ORD_Q);
    zps = _mm512_maskz_mov_ps(is_number, zps);
    zps = _mm512_min_ps(_mm512_max_ps(zps, lowest), highest);
    // To nearest, even at ties.
    return _mm512_cvtps_epi32(zps);
}

DNNL_DEQUANT_AVX512 __mmask16 odd_ones(__m512 scales) {
    const __m512i bits = _mm512_castps_si512(scales);
    const __m512i ones = _mm512_set1_epi32(0x7fffff);
    const __m512i exponent = _mm512_srli_epi32(bits, 23);
    constexpr int least = 127 - 60, span = 120;
    const __m512i above_least
            = _mm512_sub_epi32(exponent, _mm512_set1_epi32(least));
    return static_cast<__mmask16>(
            _mm512_cmpgt_epu32_mask(above_least, _mm512_set1_epi32(span))
            | _mm512_cmpeq_epi32_mask(_mm512_and_si512(bits, ones), ones));
}

} // namespace

DNNL_DEQUANT_AVX512 void make_row_parameters(const row_ranges_t &ranges,
        row_parameters_t &made, float *scales, void *zps) {
    uint32_t has_nan = 0, is_odd = 0;
    for (dim_t r = 0; r < ranges.rows; r += simd_w) {
        const dim_t count = std::min(ranges.rows - r, simd_w);
        const auto rows = static_cast<__mmask16>((1u << count) - 1);
        const __m512 above = as_f32(ranges.src, ranges.above + r);
        const __m512 below
                = ranges.below == nullptr
                          ? _mm512_setzero_ps()
                          : if_negative(as_f32(ranges.src, ranges.below + r));
        has_nan |= _mm512_mask_cmp_ps_mask(rows, above, below, is_nan);
        const __m512 scale
                = ranges.has_zps
                          ? scales_of(_mm512_add_ps(above, below),
                                    ranges.is_u8 ? 255.f : 254.f)
                          : scales_of(_mm512_max_ps(above, below), 127.f);
        is_odd |= static_cast<uint32_t>(odd_ones(scale) & rows);
        _mm512_store_ps(made.above + r, above);
        _mm512_store_ps(made.below + r, below);
        _mm512_store_ps(made.scales + r, scale);
        _mm512_store_ps(made.reciprocals + r,
                _mm512_div_ps(_mm512_set1_ps(1.f), scale));
        _mm512_mask_storeu_ps(scales + r, rows, scale);
        if (!ranges.has_zps) continue;
        const __m512i zp = zps_of(below, scale, ranges.is_u8);
        _mm512_store_si512(made.zps + r, zp);
        _mm512_mask_cvtepi32_storeu_epi8(
                static_cast<char *>(zps) + r, rows, zp);
    }
    made.has_nan = has_nan != 0;
    made.is_odd = is_odd != 0;
}

} // namespace dnnl_dequant
