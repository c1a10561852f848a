#include "kernels/quantize/jit_row_factors.hpp"

#include <cstddef>

#include "kernels/jit/avx512_intrinsics.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t simd_w = 16;

// Sixteen rows. `most` and `least` are of the two ends of the range. A width of
// 0 is `steps`, as it is for their scales.
struct row_vector_t {
    __m512 most, least, width, scale, reciprocal;
};

// A tie that there may be if the width has a divisor: x is `multiple` times
// width / divisor. The greater end may be less if that is above width / 2.
struct tie_t {
    float multiple, quotient;
    bool is_above_half = false;
};
constexpr tie_t ties_of_127[] = {{.5f, 63.5f}};
constexpr tie_t ties_of_254[] = {{.25f, 63.5f}, {.75f, 190.5f, true}};
constexpr tie_t ties_of_255[] = {{.5f, 127.5f}};
constexpr tie_t ties_of_255_by_3[] = {{.5f, 42.5f}, {2.5f, 212.5f, true}};
constexpr tie_t ties_of_255_by_5[] = {{.5f, 25.5f}, {1.5f, 76.5f},
        {3.5f, 178.5f, true}, {4.5f, 229.5f, true}};

// The rows that have to round some tie up, and down.
struct directions_t {
    __mmask16 up = 0, down = 0;
};

// The quotients by a divisor and the rows where they are exact, or have no more
// bits than the width. Such a one is the product by the divisor's reciprocal,
// which f32 has to 2^-25 of it for the divisors here.
struct parts_t {
    __m512 quotients;
    __mmask16 exact;
};
DNNL_DEQUANT_AVX512 parts_t divide(__m512 width, float divisor) {
    const __m512 quotients
            = _mm512_mul_ps(width, _mm512_set1_ps(1.f / divisor));
    const __m512 rest
            = _mm512_fnmadd_ps(quotients, _mm512_set1_ps(divisor), width);
    return {quotients,
            _mm512_cmp_ps_mask(rest, _mm512_setzero_ps(), _CMP_EQ_OQ)};
}

// unused_bits: those of f32 that src's type has not.
template <size_t count>
DNNL_DEQUANT_AVX512 void look_at(const row_vector_t &row, const parts_t &parts,
        const tie_t (&ties)[count], int unused_bits, directions_t &found) {
    for (const tie_t &tie : ties) {
        const __m512 x
                = _mm512_mul_ps(parts.quotients, _mm512_set1_ps(tie.multiple));
        __mmask16 is_x = _mm512_mask_testn_epi32_mask(parts.exact,
                _mm512_castps_si512(x), _mm512_set1_epi32(unused_bits));
        if (tie.is_above_half)
            is_x = _mm512_mask_cmp_ps_mask(is_x, x, row.most, _CMP_LE_OQ);
        // The division of jit_quantizer.hpp, which begins at the tie.
        const __m512 tied = _mm512_set1_ps(tie.quotient);
        const __m512 rest = _mm512_fnmadd_ps(tied, row.scale, x);
        const __m512 q = _mm512_fmadd_ps(rest, row.reciprocal, tied);
        const bool to_even = static_cast<int>(tie.quotient) % 2 == 0;
        const __mmask16 up
                = to_even ? _mm512_mask_cmp_ps_mask(is_x, q, tied, _CMP_GT_OQ)
                          : _mm512_mask_cmp_ps_mask(is_x, q, tied, _CMP_GE_OQ);
        found.up = _kor_mask16(found.up, up);
        found.down = _kor_mask16(found.down, _kandn_mask16(up, is_x));
    }
}

// Returns the rows with ties that have to go up and down, or that have ties
// that are not looked at.
DNNL_DEQUANT_AVX512 __mmask16 look_at_all(const row_ranges_t &ranges,
        const row_vector_t &row, directions_t &found) {
    const int unused_bits = ranges.src == data_type_t::bf16 ? 0xffff : 0x1fff;
    const parts_t whole {row.width, static_cast<__mmask16>(-1)};
    __mmask16 others;
    if (ranges.has_zps && ranges.is_u8) {
        const parts_t thirds = divide(row.width, 3.f);
        const parts_t fifths = divide(row.width, 5.f);
        look_at(row, whole, ties_of_255, unused_bits, found);
        look_at(row, thirds, ties_of_255_by_3, unused_bits, found);
        look_at(row, fifths, ties_of_255_by_5, unused_bits, found);
        others = _kor_mask16(divide(row.width, 17.f).exact,
                _kand_mask16(thirds.exact, fifths.exact));
    } else {
        if (ranges.has_zps)
            look_at(row, whole, ties_of_254, unused_bits, found);
        else look_at(row, whole, ties_of_127, unused_bits, found);
        others = divide(row.width, 127.f).exact;
    }
    return _kor_mask16(others, _kand_mask16(found.up, found.down));
}

DNNL_DEQUANT_AVX512 __m512i exponents_of(__m512 x) {
    return _mm512_srli_epi32(_mm512_castps_si512(x), 23);
}

// True of rows with an end, other than 0, that is far less than the width.
DNNL_DEQUANT_AVX512 __mmask16 are_uneven(
        const row_ranges_t &ranges, const row_vector_t &row) {
    // A width is below 2^13 units of that end.
    const int most = ranges.src == data_type_t::bf16 ? 5 : 2;
    const __mmask16 has_least
            = _mm512_cmp_ps_mask(row.least, _mm512_setzero_ps(), _CMP_GT_OQ);
    return _mm512_mask_cmpgt_epi32_mask(has_least,
            _mm512_sub_epi32(exponents_of(row.width), exponents_of(row.least)),
            _mm512_set1_epi32(most));
}

// The rows that have no factor get 0.
DNNL_DEQUANT_AVX512 __m512 factors_of(
        const row_ranges_t &ranges, const row_vector_t &row, float steps) {
    directions_t found;
    __mmask16 none = look_at_all(ranges, row, found);
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i bits = _mm512_castps_si512(
            _mm512_div_ps(_mm512_set1_ps(steps), row.width));
    const __m512i moved = _mm512_mask_add_epi32(
            _mm512_sub_epi32(bits, one), found.up, bits, one);
    if (ranges.has_zps) none = _kor_mask16(none, are_uneven(ranges, row));
    const __m512 factors = _mm512_castsi512_ps(
            _mm512_maskz_mov_epi32(_knot_mask16(none), moved));
    if (ranges.has_zps) return factors;
    // Ties are to even, as those of quotients are.
    const __mmask16 is_power_of_two = _mm512_testn_epi32_mask(
            _mm512_castps_si512(row.scale), _mm512_set1_epi32(0x7fffff));
    return _mm512_mask_mov_ps(factors, is_power_of_two, row.reciprocal);
}

DNNL_DEQUANT_AVX512 row_vector_t rows_at(const row_ranges_t &ranges,
        const row_parameters_t &made, dim_t r, float steps) {
    const __m512 above = _mm512_load_ps(made.above + r);
    const __m512 below = _mm512_load_ps(made.below + r);
    const __m512 most = _mm512_max_ps(above, below);
    const __m512 width = ranges.has_zps ? _mm512_add_ps(above, below) : most;
    const __mmask16 is_zero
            = _mm512_cmp_ps_mask(width, _mm512_setzero_ps(), _CMP_EQ_OQ);
    return {most, _mm512_min_ps(above, below),
            _mm512_mask_mov_ps(width, is_zero, _mm512_set1_ps(steps)),
            _mm512_load_ps(made.scales + r),
            _mm512_load_ps(made.reciprocals + r)};
}

} // namespace

DNNL_DEQUANT_AVX512 void make_row_factors(
        const row_ranges_t &ranges, row_parameters_t &made) {
    const float steps = !ranges.has_zps ? 127.f : ranges.is_u8 ? 255.f : 254.f;
    for (dim_t r = 0; r < ranges.rows; r += simd_w) {
        const row_vector_t row = rows_at(ranges, made, r, steps);
        _mm512_store_ps(made.factors + r, factors_of(ranges, row, steps));
        if (!ranges.has_zps) continue;
        const __m512 zps = _mm512_cvtepi32_ps(_mm512_load_si512(made.zps + r));
        _mm512_store_ps(made.sums + r,
                _mm512_add_ps(zps, _mm512_set1_ps(integers_from)));
    }
}

} // namespace dnnl_dequant
