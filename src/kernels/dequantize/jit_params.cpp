#include "kernels/dequantize/jit_params.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>
#include <limits>

#include <immintrin.h>

namespace dnnl_dequant {

namespace {

#define DNNL_DEQUANT_AVX2 __attribute__((target("avx2,f16c")))

constexpr dim_t simd_w = 8;
constexpr int low_part = 1023;

template <typename T>
T load_as(const void *from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

__m128i load_64_bits(const void *from) {
    return _mm_loadl_epi64(static_cast<const __m128i *>(from));
}

__m128i load_128_bits(const void *from) {
    return _mm_loadu_si128(static_cast<const __m128i *>(from));
}

// How eight elements in a row, or one, are read as f32 or s32 lanes.
template <data_type_t type>
struct loader_t;

template <>
struct loader_t<data_type_t::f32> {
    static constexpr int bits = 32;
    DNNL_DEQUANT_AVX2 static __m256 eight(const void *from) {
        return _mm256_loadu_ps(static_cast<const float *>(from));
    }
    static float one(const char *base, dim_t index) {
        return load_as<float>(base + 4 * index);
    }
};

template <>
struct loader_t<data_type_t::bf16> {
    static constexpr int bits = 16;
    DNNL_DEQUANT_AVX2 static __m256 eight(const void *from) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(
                _mm256_cvtepu16_epi32(load_128_bits(from)), 16));
    }
    static float one(const char *base, dim_t index) {
        const uint32_t word = load_as<uint16_t>(base + 2 * index);
        const uint32_t value = word << 16;
        return load_as<float>(&value);
    }
};

template <>
struct loader_t<data_type_t::f16> {
    static constexpr int bits = 16;
    DNNL_DEQUANT_AVX2 static __m256 eight(const void *from) {
        return _mm256_cvtph_ps(load_128_bits(from));
    }
    DNNL_DEQUANT_AVX2 static float one(const char *base, dim_t index) {
        return _cvtsh_ss(load_as<uint16_t>(base + 2 * index));
    }
};

template <>
struct loader_t<data_type_t::u8> {
    static constexpr int bits = 8;
    DNNL_DEQUANT_AVX2 static __m256i eight(const void *from) {
        return _mm256_cvtepu8_epi32(load_64_bits(from));
    }
    static int one(const char *base, dim_t index) {
        return load_as<uint8_t>(base + index);
    }
};

template <>
struct loader_t<data_type_t::s8> {
    static constexpr int bits = 8;
    DNNL_DEQUANT_AVX2 static __m256i eight(const void *from) {
        return _mm256_cvtepi8_epi32(load_64_bits(from));
    }
    static int one(const char *base, dim_t index) {
        return load_as<int8_t>(base + index);
    }
};

template <>
struct loader_t<data_type_t::u4> {
    static constexpr int bits = 4;
    DNNL_DEQUANT_AVX2 static __m256i eight(const void *from) {
        const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        const __m256i dwords = _mm256_set1_epi32(load_as<int>(from));
        return _mm256_and_si256(
                _mm256_srlv_epi32(dwords, shifts), _mm256_set1_epi32(15));
    }
    static int one(const char *base, dim_t index) {
        return load_as<uint8_t>(base + (index >> 1)) >> (index & 1) * 4 & 15;
    }
};

template <>
struct loader_t<data_type_t::s4> {
    static constexpr int bits = 4;
    DNNL_DEQUANT_AVX2 static __m256i eight(const void *from) {
        const __m256i sign = _mm256_set1_epi32(8);
        const __m256i nibbles = loader_t<data_type_t::u4>::eight(from);
        return _mm256_sub_epi32(_mm256_xor_si256(nibbles, sign), sign);
    }
    static int one(const char *base, dim_t index) {
        return (loader_t<data_type_t::u4>::one(base, index) ^ 8) - 8;
    }
};

template <>
struct loader_t<data_type_t::s32> {
    static constexpr int bits = 32;
    DNNL_DEQUANT_AVX2 static __m256i eight(const void *from) {
        return _mm256_loadu_si256(static_cast<const __m256i *>(from));
    }
    static int one(const char *base, dim_t index) {
        return load_as<int32_t>(base + 4 * index);
    }
};

// Whether eight elements can be read from whole bytes.
template <data_type_t type>
bool is_dense(dim_t first, dim_t stride) {
    return stride == 1 && (loader_t<type>::bits != 4 || first % 2 == 0);
}

template <data_type_t type>
DNNL_DEQUANT_AVX2 bool stage_scales_as(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    using loader = loader_t<type>;
    const auto *bytes = static_cast<const char *>(base);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    dim_t i = 0;
    if (is_dense<type>(first, stride))
        for (; i + simd_w <= count; i += simd_w) {
            const __m256 scales
                    = loader::eight(bytes + (first + i) * loader::bits / 8);
            const __m256 is_nan = _mm256_cmp_ps(scales, scales, _CMP_UNORD_Q);
            _mm256_storeu_ps(to + i,
                    _mm256_blendv_ps(scales, _mm256_set1_ps(nan), is_nan));
        }
    for (; i < count; ++i) {
        const float scale = loader::one(bytes, first + i * stride);
        to[i] = scale != scale ? nan : scale;
    }
    return false;
}

template <data_type_t type>
DNNL_DEQUANT_AVX2 bool stage_zps_as(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    using loader = loader_t<type>;
    const auto *bytes = static_cast<const char *>(base);
    constexpr int limit = static_cast<int>(max_one_part_zp);
    __m256i outside = _mm256_setzero_si256();
    bool wide = false;
    dim_t i = 0;
    if (is_dense<type>(first, stride))
        for (; i + simd_w <= count; i += simd_w) {
            const __m256i zps
                    = loader::eight(bytes + (first + i) * loader::bits / 8);
            // Bits above those of [-limit, limit), moved to begin at zero.
            outside = _mm256_or_si256(outside,
                    _mm256_andnot_si256(_mm256_set1_epi32(2 * limit - 1),
                            _mm256_add_epi32(zps, _mm256_set1_epi32(limit))));
            _mm256_storeu_ps(to + i, _mm256_cvtepi32_ps(zps));
        }
    for (; i < count; ++i) {
        const int zp = loader::one(bytes, first + i * stride);
        wide = wide || zp >= limit || zp < -limit;
        to[i] = static_cast<float>(zp);
    }
    return wide || _mm256_testz_si256(outside, outside) == 0;
}

} // namespace

stage_t stage_scales(data_type_t type) {
    switch (type) {
    case data_type_t::bf16: return stage_scales_as<data_type_t::bf16>;
    case data_type_t::f16: return stage_scales_as<data_type_t::f16>;
    default: return stage_scales_as<data_type_t::f32>;
    }
}

stage_t stage_zps(data_type_t type) {
    switch (type) {
    case data_type_t::u8: return stage_zps_as<data_type_t::u8>;
    case data_type_t::s8: return stage_zps_as<data_type_t::s8>;
    case data_type_t::u4: return stage_zps_as<data_type_t::u4>;
    case data_type_t::s4: return stage_zps_as<data_type_t::s4>;
    default: return stage_zps_as<data_type_t::s32>;
    }
}

bool stage_zps_low(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    const auto *zps = static_cast<const char *>(base);
    for (dim_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(
                load_as<int32_t>(zps + 4 * (first + i * stride)) & low_part);
    return false;
}

bool stage_zps_high(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    const auto *zps = static_cast<const char *>(base);
    for (dim_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(
                load_as<int32_t>(zps + 4 * (first + i * stride)) & ~low_part);
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
