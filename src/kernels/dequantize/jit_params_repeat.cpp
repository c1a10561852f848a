// Parameters that repeat along the columns.

#include "kernels/dequantize/jit_params.hpp"

#include <algorithm>
#include <array>

#include "kernels/dequantize/jit_loaders.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t simd_w = 8;

} // namespace

DNNL_DEQUANT_AVX2 void repeat_each(
        float *to, const float *from, dim_t times, dim_t skip, dim_t total) {
    if (1 < times && times < most_repeats)
        return repeat_each({to, from, 1, 0, 0}, times, skip, total);
    dim_t left = times - skip;
    for (dim_t i = 0; i < total; ++from, left = times) {
        const dim_t end = std::min(total, i + left);
        // In eights, past the end, where what follows is written next.
        const __m256 value = _mm256_broadcast_ss(from);
        for (dim_t at = i; at < end; at += simd_w)
            _mm256_storeu_ps(to + at, value);
        i = end;
    }
}

namespace {

// Eight results are so many whole values: each eight have the same order.
DNNL_DEQUANT_AVX2 void repeat_evenly(
        const repeated_rows_t &all, dim_t times, dim_t total) {
    alignas(32) int32_t order[simd_w];
    for (int32_t i = 0; i < simd_w; ++i)
        order[i] = i / static_cast<int32_t>(times);
    const __m256i which
            = _mm256_load_si256(reinterpret_cast<const __m256i *>(order));
    const dim_t values = simd_w / times;
    for (dim_t r = 0; r < all.rows; ++r) {
        const float *from = all.from + r * all.from_pitch;
        float *const to = all.to + r * all.to_pitch;
        for (dim_t i = 0; i < total; i += simd_w, from += values)
            _mm256_storeu_ps(to + i,
                    _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), which));
    }
}

} // namespace

// Each value is repeated `times` times. The eight results that follow begin
// `phase` results into a value, so lane i has value (phase + i) / times. The
// upper half of a product gives that quotient exactly for such small numbers.
DNNL_DEQUANT_AVX2 void repeat_each(
        const repeated_rows_t &all, dim_t times, dim_t skip, dim_t total) {
    if (skip == 0 && simd_w % times == 0)
        return repeat_evenly(all, times, total);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i reciprocal
            = _mm256_set1_epi32(static_cast<int>((1 << 16) / times + 1));
    const float *from = all.from;
    dim_t phase = skip;
    for (dim_t i = 0; i < total; i += simd_w) {
        const __m256i which = _mm256_mulhi_epu16(reciprocal,
                _mm256_add_epi32(
                        lanes, _mm256_set1_epi32(static_cast<int>(phase))));
        for (dim_t r = 0; r < all.rows; ++r)
            _mm256_storeu_ps(all.to + r * all.to_pitch + i,
                    _mm256_permutevar8x32_ps(
                            _mm256_loadu_ps(from + r * all.from_pitch), which));
        for (phase += simd_w; phase >= times; phase -= times)
            ++from;
    }
}

// Eights are loaded from one period and the beginning of the next.
DNNL_DEQUANT_AVX2 void repeat_periods(
        const repeated_rows_t &all, dim_t period, dim_t skip, dim_t total) {
    std::array<float, size_t {most_period + simd_w}> values;
    for (dim_t r = 0; r < all.rows; ++r) {
        const float *const from = all.from + r * all.from_pitch;
        float *const to = all.to + r * all.to_pitch;
        float *const end = std::copy_n(from, period, values.data());
        for (dim_t i = 0; i < simd_w; ++i)
            end[i] = end[i - period];
        dim_t phase = skip;
        for (dim_t i = 0; i < total; i += simd_w) {
            _mm256_storeu_ps(to + i, _mm256_loadu_ps(values.data() + phase));
            for (phase += simd_w; phase >= period;)
                phase -= period;
        }
    }
}

} // namespace dnnl_dequant
