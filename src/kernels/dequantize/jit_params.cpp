#include "kernels/dequantize/jit_params.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/prefetch.hpp"
#include "kernels/dequantize/jit_loaders.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t simd_w = 8;
// The low part of an integer of 32 bits.
constexpr int low_bits = 10;
constexpr int low_mask = (1 << low_bits) - 1;

// Whether eight elements can be read from whole bytes.
template <data_type_t type>
bool is_dense(dim_t first, dim_t stride) {
    return stride == 1 && first * bits_of(type) % 8 == 0;
}

template <data_type_t type>
const char *address(const void *base, dim_t element) {
    return static_cast<const char *>(base) + element * bits_of(type) / 8;
}

// Stages elements in one form: form_t::eight() makes the 32 bits that are kept
// of eight elements, form_t::one() those of one.
template <data_type_t type, typename form_t>
DNNL_DEQUANT_AVX2 void stage_as(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    using loader = loader_t<type>;
    const auto *bytes = static_cast<const char *>(base);
    const auto *dense = address<type>(base, first);
    const dim_t bits = bits_of(type);
    dim_t i = 0;
    if (is_dense<type>(first, stride))
        for (; i + simd_w <= count; i += simd_w)
            _mm256_storeu_ps(
                    to + i, form_t::eight(loader::eight(dense + i * bits / 8)));
    for (; i < count; ++i) {
        const auto one = form_t::one(loader::one(bytes, first + i * stride));
        static_assert(sizeof(one) == sizeof(*to));
        std::memcpy(to + i, &one, sizeof(one));
    }
}

// A NaN loses its payload.
struct float_form_t {
    DNNL_DEQUANT_AVX2 static __m256 eight(__m256 values) {
        const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
        return _mm256_blendv_ps(values, _mm256_set1_ps(nan), is_nan);
    }
    static float one(float value) { return value != value ? nan : value; }

    static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
};

using check_t = bool (*)(const float *values, dim_t count);

bool has_nothing(const float *, dim_t) {
    return false;
}

template <data_type_t type, check_t check = has_nothing>
bool stage_floats(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    stage_as<type, float_form_t>(to, base, first, stride, count);
    return check(to, count);
}

DNNL_DEQUANT_AVX2 bool has_small(const float *values, dim_t count) {
    const float least = least_ordinary_scale;
    const __m256 not_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    __m256 found = _mm256_setzero_ps();
    dim_t i = 0;
    for (; i + simd_w <= count; i += simd_w) {
        const __m256 size
                = _mm256_and_ps(_mm256_loadu_ps(values + i), not_sign);
        const __m256 below
                = _mm256_cmp_ps(size, _mm256_set1_ps(least), _CMP_LT_OQ);
        const __m256 is_zero
                = _mm256_cmp_ps(size, _mm256_setzero_ps(), _CMP_EQ_OQ);
        found = _mm256_or_ps(found, _mm256_andnot_ps(is_zero, below));
    }
    bool any = _mm256_movemask_ps(found) != 0;
    for (; i < count; ++i)
        any = any || (std::fabs(values[i]) < least && values[i] != 0.f);
    return any;
}

// Whether dividing by one of them is not multiplying by its reciprocal.
DNNL_DEQUANT_AVX2 bool are_odd_divisors(const float *scales, dim_t count) {
    constexpr uint32_t significand = 0x7fffff;
    constexpr uint32_t least = 127 - 60, span = 120;
    uint32_t odd = 0;
    for (dim_t i = 0; i < count; ++i) {
        uint32_t bits;
        std::memcpy(&bits, scales + i, sizeof(bits));
        const uint32_t exponent = bits >> 23 & 0xffu;
        odd |= static_cast<uint32_t>(exponent - least > span)
               | static_cast<uint32_t>((bits & significand) == significand);
    }
    return odd != 0;
}

// Whether not all are +0, the one zero point that changes nothing.
bool has_others_than_zero(const float *zps, dim_t count) {
    uint32_t seen = 0;
    for (dim_t i = 0; i < count; ++i) {
        uint32_t bits;
        std::memcpy(&bits, zps + i, sizeof(bits));
        seen |= bits;
    }
    return seen != 0;
}

// Bits above those of [-limit, limit), moved to begin at zero; of u32, above
// those of [0, limit).
constexpr int limit = static_cast<int>(max_one_part_zp);
template <data_type_t type>
constexpr int least_zp = type == data_type_t::u32 ? 0 : -limit;
template <data_type_t type>
constexpr int outside_mask = ~(limit - least_zp<type> - 1);

template <data_type_t type>
constexpr bool shares_bytes
        = type == data_type_t::u4 || type == data_type_t::s4
          || type == data_type_t::u2 || type == data_type_t::s2;

// Elements in the same place of bytes that stand `apart`.
template <data_type_t type>
void stage_parts(
        float *to, const char *from, int bit, dim_t apart, dim_t count) {
    for (dim_t i = 0; i < count; ++i, from += apart)
        to[i] = static_cast<float>(loader_t<type>::part(from, bit));
}

template <data_type_t type>
DNNL_DEQUANT_AVX2 bool stage_integers(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    using loader = loader_t<type>;
    const auto *bytes = static_cast<const char *>(base);
    __m256i outside = _mm256_setzero_si256();
    bool wide = false;
    const auto *dense = address<type>(base, first);
    const dim_t bits = bits_of(type);
    if constexpr (shares_bytes<type>)
        if (stride * bits % 8 == 0) {
            stage_parts<type>(to, dense, static_cast<int>(first * bits % 8),
                    stride * bits / 8, count);
            return false;
        }
    dim_t i = 0;
    if (is_dense<type>(first, stride))
        for (; i + simd_w <= count; i += simd_w) {
            const __m256i zps = loader::eight(dense + i * bits / 8);
            outside = _mm256_or_si256(outside,
                    _mm256_and_si256(_mm256_set1_epi32(outside_mask<type>),
                            _mm256_sub_epi32(
                                    zps, _mm256_set1_epi32(least_zp<type>))));
            _mm256_storeu_ps(to + i, _mm256_cvtepi32_ps(zps));
        }
    for (; i < count; ++i) {
        const int zp = loader::one(bytes, first + i * stride);
        wide = wide || zp >= limit || zp < least_zp<type>;
        to[i] = static_cast<float>(zp);
    }
    return wide || _mm256_testz_si256(outside, outside) == 0;
}

struct low_form_t {
    DNNL_DEQUANT_AVX2 static __m256 eight(__m256i zps) {
        return _mm256_cvtepi32_ps(
                _mm256_and_si256(zps, _mm256_set1_epi32(low_mask)));
    }
    static float one(int zp) { return static_cast<float>(zp & low_mask); }
};

template <bool is_unsigned>
struct high_form_t {
    DNNL_DEQUANT_AVX2 static __m256 eight(__m256i zps) {
        const __m256i high = is_unsigned ? _mm256_srli_epi32(zps, low_bits)
                                         : _mm256_srai_epi32(zps, low_bits);
        return _mm256_mul_ps(
                _mm256_cvtepi32_ps(high), _mm256_set1_ps(low_mask + 1));
    }
    static float one(int zp) {
        zp &= ~low_mask;
        return is_unsigned ? static_cast<float>(static_cast<uint32_t>(zp))
                           : static_cast<float>(zp);
    }
};

// An integer whose highest bit is flipped where that makes it an s32.
template <bool is_unsigned>
struct s32_form_t {
    DNNL_DEQUANT_AVX2 static __m256 eight(__m256i zps) {
        return _mm256_castsi256_ps(_mm256_xor_si256(
                zps, _mm256_set1_epi32(static_cast<int>(flipped))));
    }
    static uint32_t one(int zp) { return static_cast<uint32_t>(zp) ^ flipped; }

    static constexpr uint32_t flipped = is_unsigned ? 0x80000000u : 0u;
};

template <data_type_t type, typename form_t, bool result>
bool stage_zps(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    stage_as<type, form_t>(to, base, first, stride, count);
    return result;
}

template <data_type_t type>
constexpr bool is_u32 = type == data_type_t::u32;

DNNL_DEQUANT_AVX2 bool has_far_integers(const float *values, dim_t count) {
    const __m256i most = _mm256_set1_epi32(most_near_zp);
    __m256i far = _mm256_setzero_si256();
    dim_t i = 0;
    for (; i + simd_w <= count; i += simd_w) {
        const __m256i size = _mm256_abs_epi32(
                _mm256_castps_si256(_mm256_loadu_ps(values + i)));
        // The least of all has no size; it is greater as an unsigned one.
        far = _mm256_or_si256(
                far, _mm256_xor_si256(_mm256_max_epu32(size, most), most));
    }
    bool any = _mm256_testz_si256(far, far) == 0;
    for (; i < count; ++i) {
        int32_t value;
        std::memcpy(&value, values + i, sizeof(value));
        any = any || value < -most_near_zp || value > most_near_zp;
    }
    return any;
}

template <data_type_t type>
bool stage_checked_s32(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    stage_as<type, s32_form_t<is_u32<type>>>(to, base, first, stride, count);
    return type == data_type_t::s32 && has_far_integers(to, count);
}

template <data_type_t type>
constexpr zps_stages_t integer_stages
        = {stage_integers<type>, stage_zps<type, low_form_t, true>,
                stage_zps<type, high_form_t<is_u32<type>>, true>,
                stage_zps<type, s32_form_t<is_u32<type>>, false>,
                stage_checked_s32<type>};

template <data_type_t type>
constexpr zps_stages_t small_float_stages {
        stage_floats<type, has_others_than_zero>, nullptr, nullptr, nullptr,
        nullptr};

struct floats_stages_t {
    stage_t plain, checked, divisors;
};

template <data_type_t type>
constexpr floats_stages_t floats_stages {stage_floats<type>,
        stage_floats<type, has_small>,
        bits_of(type) > 8 || type == data_type_t::e8m0
                ? stage_floats<type, are_odd_divisors>
                : nullptr};

floats_stages_t floats_stages_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::f32: return floats_stages<t::f32>;
    case t::bf16: return floats_stages<t::bf16>;
    case t::f16: return floats_stages<t::f16>;
    case t::e8m0: return floats_stages<t::e8m0>;
    case t::f8_e4m3: return floats_stages<t::f8_e4m3>;
    case t::f8_e5m2: return floats_stages<t::f8_e5m2>;
    case t::f8_e4m3fnuz: return floats_stages<t::f8_e4m3fnuz>;
    case t::f8_e5m2fnuz: return floats_stages<t::f8_e5m2fnuz>;
    case t::f4_e2m1: return floats_stages<t::f4_e2m1>;
    default: return {nullptr, nullptr, nullptr};
    }
}

// Rows of groups are short, so a call for each cost more than its elements.
template <data_type_t type, stage_t stage>
DNNL_DEQUANT_AVX2 bool stage_each_row(const staged_rows_t &all) {
    const auto *row = static_cast<const char *>(all.from);
    const dim_t row_bytes = div_up(all.count * bits_of(type), dim_t(8));
    float *to = all.to;
    bool found = false;
    for (dim_t r = 0; r < all.rows; ++r) {
        found |= stage(to, row, 0, 1, all.count);
        if (all.ahead > 0) prefetch_bytes(row + all.ahead, row_bytes);
        row += all.from_pitch;
        to += all.to_pitch;
    }
    return found;
}

} // namespace

stage_blocks_t stage_rows_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::f32: return stage_each_row<t::f32, stage_floats<t::f32>>;
    case t::bf16: return stage_each_row<t::bf16, stage_floats<t::bf16>>;
    case t::f16: return stage_each_row<t::f16, stage_floats<t::f16>>;
    case t::u32: return stage_each_row<t::u32, stage_integers<t::u32>>;
    case t::s32: return stage_each_row<t::s32, stage_integers<t::s32>>;
    case t::u16: return stage_each_row<t::u16, stage_integers<t::u16>>;
    case t::s16: return stage_each_row<t::s16, stage_integers<t::s16>>;
    case t::u8: return stage_each_row<t::u8, stage_integers<t::u8>>;
    case t::s8: return stage_each_row<t::s8, stage_integers<t::s8>>;
    case t::u4: return stage_each_row<t::u4, stage_integers<t::u4>>;
    case t::s4: return stage_each_row<t::s4, stage_integers<t::s4>>;
    default: return nullptr;
    }
}

stage_t stage_floats_of(data_type_t type) {
    return floats_stages_of(type).plain;
}

stage_t stage_checked_floats_of(data_type_t type) {
    return floats_stages_of(type).checked;
}

DNNL_DEQUANT_AVX2 void invert(
        float *to, const float *from, dim_t count) noexcept {
    for (dim_t i = 0; i < count; ++i)
        to[i] = 1.f / from[i];
}

stage_t stage_divisors_of(data_type_t type) {
    return floats_stages_of(type).divisors;
}

zps_stages_t stages_of_zps(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::u2: return integer_stages<t::u2>;
    case t::s2: return integer_stages<t::s2>;
    case t::u4: return integer_stages<t::u4>;
    case t::s4: return integer_stages<t::s4>;
    case t::u8: return integer_stages<t::u8>;
    case t::s8: return integer_stages<t::s8>;
    case t::u16: return integer_stages<t::u16>;
    case t::s16: return integer_stages<t::s16>;
    case t::u32: return integer_stages<t::u32>;
    case t::s32: return integer_stages<t::s32>;
    case t::f8_e4m3: return small_float_stages<t::f8_e4m3>;
    case t::f8_e5m2: return small_float_stages<t::f8_e5m2>;
    case t::f8_e4m3fnuz: return small_float_stages<t::f8_e4m3fnuz>;
    case t::f8_e5m2fnuz: return small_float_stages<t::f8_e5m2fnuz>;
    case t::f4_e2m1: return small_float_stages<t::f4_e2m1>;
    default: return {stage_floats_of(type), nullptr, nullptr, nullptr, nullptr};
    }
}

namespace {

// A block is twice as many vectors of eight.
template <size_t vectors>
DNNL_DEQUANT_AVX2 void pair_each(float *values, dim_t count) {
    constexpr int in_order = _MM_SHUFFLE(3, 1, 2, 0);
    constexpr dim_t block = 2 * static_cast<dim_t>(vectors) * simd_w;
    for (float *to = values; to < values + count; to += block) {
        __m256d even[vectors], odd[vectors];
        for (size_t v = 0; v < vectors; ++v) {
            const __m256 low = _mm256_loadu_ps(to + 2 * v * simd_w);
            const __m256 high = _mm256_loadu_ps(to + (2 * v + 1) * simd_w);
            even[v] = _mm256_castps_pd(
                    _mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
            odd[v] = _mm256_castps_pd(
                    _mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
        }
        for (size_t v = 0; v < vectors; ++v) {
            _mm256_storeu_ps(to + v * simd_w,
                    _mm256_castpd_ps(_mm256_permute4x64_pd(even[v], in_order)));
            _mm256_storeu_ps(to + (vectors + v) * simd_w,
                    _mm256_castpd_ps(_mm256_permute4x64_pd(odd[v], in_order)));
        }
    }
}

} // namespace

void pair_blocks(float *values, dim_t count, int lanes) {
    if (lanes == simd_w) pair_each<1>(values, count);
    else pair_each<2>(values, count);
}

} // namespace dnnl_dequant
