#include "kernels/dequantize/jit_params.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>
#include <limits>

#include <immintrin.h>

#include "base/convert.hpp"

namespace dnnl_dequant {

namespace {

#define DNNL_DEQUANT_AVX2 __attribute__((target("avx2,f16c")))

constexpr dim_t simd_w = 8;
constexpr int64_t low_part = 1023;

float without_payload(float value) {
    return value != value ? std::numeric_limits<float>::quiet_NaN() : value;
}

DNNL_DEQUANT_AVX2 __m256 without_payload(__m256 values) {
    const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
    const __m256 nan = _mm256_set1_ps(std::numeric_limits<float>::quiet_NaN());
    return _mm256_blendv_ps(values, nan, is_nan);
}

const void *element(data_type_t type, const void *base, dim_t index) {
    return static_cast<const char *>(base) + bytes_of(type, index);
}

DNNL_DEQUANT_AVX2 __m256 load_scales(data_type_t type, const void *from) {
    const auto words = [from] {
        return _mm_loadu_si128(static_cast<const __m128i *>(from));
    };
    switch (type) {
    case data_type_t::bf16:
        return _mm256_castsi256_ps(
                _mm256_slli_epi32(_mm256_cvtepu16_epi32(words()), 16));
    case data_type_t::f16: return _mm256_cvtph_ps(words());
    default: return _mm256_loadu_ps(static_cast<const float *>(from));
    }
}

DNNL_DEQUANT_AVX2 __m256i load_nibbles(const void *from) {
    int32_t dword;
    std::memcpy(&dword, from, sizeof(dword));
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    return _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(dword), shifts),
            _mm256_set1_epi32(15));
}

DNNL_DEQUANT_AVX2 __m256i load_zps(data_type_t type, const void *from) {
    const auto bytes = [from] {
        return _mm_loadl_epi64(static_cast<const __m128i *>(from));
    };
    const __m256i sign = _mm256_set1_epi32(8);
    switch (type) {
    case data_type_t::u8: return _mm256_cvtepu8_epi32(bytes());
    case data_type_t::s8: return _mm256_cvtepi8_epi32(bytes());
    case data_type_t::u4: return load_nibbles(from);
    case data_type_t::s4:
        return _mm256_sub_epi32(
                _mm256_xor_si256(load_nibbles(from), sign), sign);
    default: return _mm256_loadu_si256(static_cast<const __m256i *>(from));
    }
}

// All ones where a zero point is beyond max_one_part_zp (or equal to it).
DNNL_DEQUANT_AVX2 __m256i too_wide(__m256i zps) {
    const int limit = static_cast<int>(max_one_part_zp);
    const __m256i outside =
            _mm256_andnot_si256(_mm256_set1_epi32(2 * limit - 1),
                    _mm256_add_epi32(zps, _mm256_set1_epi32(limit)));
    return outside;
}

bool dense_from(data_type_t type, dim_t first, dim_t stride) {
    return stride == 1 && (bits_of(type) != 4 || first % 2 == 0);
}

} // namespace

DNNL_DEQUANT_AVX2
bool stage_scales(float *to, data_type_t type, const void *base, dim_t first,
        dim_t stride, dim_t count) {
    dim_t i = 0;
    if (dense_from(type, first, stride))
        for (; i + simd_w <= count; i += simd_w)
            _mm256_storeu_ps(to + i, without_payload(load_scales(type,
                                             element(type, base, first + i))));
    for (; i < count; ++i)
        to[i] = without_payload(load_f32(type, base, first + i * stride));
    return false;
}

DNNL_DEQUANT_AVX2
bool stage_zps(float *to, data_type_t type, const void *base, dim_t first,
        dim_t stride, dim_t count) {
    dim_t i = 0;
    bool wide = false;
    if (dense_from(type, first, stride)) {
        __m256i outside = _mm256_setzero_si256();
        for (; i + simd_w <= count; i += simd_w) {
            const __m256i values =
                    load_zps(type, element(type, base, first + i));
            outside = _mm256_or_si256(outside, too_wide(values));
            _mm256_storeu_ps(to + i, _mm256_cvtepi32_ps(values));
        }
        wide = _mm256_testz_si256(outside, outside) == 0;
    }
    for (; i < count; ++i) {
        const int64_t zp = load_int(type, base, first + i * stride);
        wide = wide || zp > max_one_part_zp || zp < -max_one_part_zp;
        to[i] = static_cast<float>(zp);
    }
    return wide;
}

bool stage_zps_low(float *to, data_type_t type, const void *base, dim_t first,
        dim_t stride, dim_t count) {
    for (dim_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(
                load_int(type, base, first + i * stride) & low_part);
    return false;
}

bool stage_zps_high(float *to, data_type_t type, const void *base, dim_t first,
        dim_t stride, dim_t count) {
    for (dim_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(
                load_int(type, base, first + i * stride) & ~low_part);
    return false;
}

void repeat_each(
        float *to, const float *from, dim_t times, dim_t skip, dim_t total) {
    dim_t left = times - skip;
    for (dim_t i = 0; i < total; ++from, left = times) {
        const dim_t end = std::min(total, i + left);
        // In fours, past the end, where what follows is written next.
        const __m128 value = _mm_set1_ps(*from);
        for (dim_t at = i; at < end; at += 4)
            _mm_storeu_ps(to + at, value);
        i = end;
    }
}

void pair_blocks(float *values, dim_t count, int lanes) {
    constexpr int max_lanes = 16;
    float block[2 * max_lanes];
    for (dim_t b = 0; b < count; b += 2 * lanes) {
        for (int i = 0; i < lanes; i += 4) {
            const __m128 low = _mm_loadu_ps(values + b + 2 * i);
            const __m128 high = _mm_loadu_ps(values + b + 2 * i + 4);
            _mm_storeu_ps(block + i,
                    _mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
            _mm_storeu_ps(block + lanes + i,
                    _mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
        }
        std::memcpy(values + b, block,
                sizeof(float) * 2 * static_cast<size_t>(lanes));
    }
}

} // namespace dnnl_dequant

#endif
