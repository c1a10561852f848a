// Makes 32 scales or zero points at a time, and the last ones of a row by
// masks, since rows of groups are short. Two vectors hold them in the order
// that is natural to the type. One half follows the other, or the even and the
// odd elements are parts of the same lanes.

#include "kernels/dequantize/jit_params_blocks.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/prefetch.hpp"
#include "kernels/dequantize/jit_params.hpp"

#include "kernels/jit/avx512_intrinsics.hpp"

namespace dnnl_dequant {

namespace {

struct two_t {
    __m512 first, second;
};

template <data_type_t type>
constexpr bool in_halves = bits_of(type) == 32 || type == data_type_t::f16;

DNNL_DEQUANT_AVX512 __m512i dwords(const void *from) {
    return _mm512_loadu_si512(from);
}

DNNL_DEQUANT_AVX512 two_t converted(__m512i first, __m512i second) {
    return {_mm512_cvtepi32_ps(first), _mm512_cvtepi32_ps(second)};
}

// Splits each lane into its lowest `bits` and as many above them. Its other
// bits may be anything.
template <int bits, bool is_signed>
DNNL_DEQUANT_AVX512 two_t parts_of(__m512i lanes) {
    const __m512i even = _mm512_slli_epi32(lanes, 32 - bits);
    const __m512i odd = _mm512_slli_epi32(lanes, 32 - 2 * bits);
    constexpr unsigned down = 32 - bits;
    return is_signed ? converted(_mm512_srai_epi32(even, down),
                               _mm512_srai_epi32(odd, down))
                     : converted(_mm512_srli_epi32(even, down),
                               _mm512_srli_epi32(odd, down));
}

// The block's bytes, as far as it has elements; each byte or pair of them in a
// lane of its own where the type is no longer.
struct lanes_t {
    __m512i first, second;
};

template <data_type_t type>
DNNL_DEQUANT_AVX512 lanes_t load(const char *from, dim_t count) {
    const __m512i none = _mm512_setzero_si512();
    const auto lanes = static_cast<__mmask32>((uint64_t(1) << count) - 1);
    switch (bits_of(type)) {
    case 32:
        return {_mm512_maskz_loadu_epi32(static_cast<__mmask16>(lanes), from),
                _mm512_maskz_loadu_epi32(
                        static_cast<__mmask16>(lanes >> 16), from + 64)};
    case 16: return {_mm512_maskz_loadu_epi16(lanes, from), none};
    case 8:
        return {_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi8(lanes, from)),
                none};
    default: {
        const auto bytes = static_cast<__mmask16>((1u << (count + 1) / 2) - 1);
        return {_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(bytes, from)), none};
    }
    }
}

template <data_type_t type>
DNNL_DEQUANT_AVX512 two_t values_of(const lanes_t &lanes) {
    using t = data_type_t;
    constexpr bool is_signed = type == t::s4 || type == t::s8 || type == t::s16;
    switch (type) {
    case t::f32:
        return {_mm512_castsi512_ps(lanes.first),
                _mm512_castsi512_ps(lanes.second)};
    case t::f16:
        return {_mm512_cvtph_ps(_mm512_castsi512_si256(lanes.first)),
                _mm512_cvtph_ps(_mm512_extracti64x4_epi64(lanes.first, 1))};
    case t::bf16: {
        const __m512i upper = _mm512_set1_epi32(~0xffff);
        return {_mm512_castsi512_ps(_mm512_slli_epi32(lanes.first, 16)),
                _mm512_castsi512_ps(_mm512_and_si512(lanes.first, upper))};
    }
    case t::u32:
    case t::s32: return converted(lanes.first, lanes.second);
    default:
        return parts_of<std::min<int>(bits_of(type), 16), is_signed>(
                lanes.first);
    }
}

// A bit where a zero point has no value of one part.
template <data_type_t type>
DNNL_DEQUANT_AVX512 __mmask16 wide_of(__m512i zps) {
    constexpr int limit = static_cast<int>(max_one_part_zp);
    constexpr int least = type == data_type_t::u32 ? 0 : -limit;
    return _mm512_test_epi32_mask(
            _mm512_sub_epi32(zps, _mm512_set1_epi32(least)),
            _mm512_set1_epi32(~(limit - least - 1)));
}

// Turns either order of two vectors into the other.
DNNL_DEQUANT_AVX512 two_t reordered(const two_t &two, bool to_pairs) {
    static constexpr auto indices_of = [](bool pairs, int second) {
        std::array<int, 16> indices {};
        for (int i = 0; i < 16; ++i)
            indices[static_cast<size_t>(i)]
                    = pairs ? 2 * i + second : i / 2 + second * 8 + i % 2 * 16;
        return indices;
    };
    static constexpr std::array<int, 16> indices[2][2]
            = {{indices_of(false, 0), indices_of(false, 1)},
                    {indices_of(true, 0), indices_of(true, 1)}};
    const auto &wanted = indices[to_pairs ? 1 : 0];
    return {_mm512_permutex2var_ps(
                    two.first, dwords(wanted[0].data()), two.second),
            _mm512_permutex2var_ps(
                    two.first, dwords(wanted[1].data()), two.second)};
}

// A NaN loses its payload, see jit_params.hpp.
DNNL_DEQUANT_AVX512 __m512 plain(__m512 values) {
    const auto nan = _mm512_set1_ps(std::numeric_limits<float>::quiet_NaN());
    const auto is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(values, is_nan, nan);
}

// A bit where a scale is not zero and less than least_ordinary_scale. Less one,
// zero is the greatest of all.
DNNL_DEQUANT_AVX512 __mmask16 small_of(__m512 values) {
    const __m512i size = _mm512_and_si512(
            _mm512_castps_si512(values), _mm512_set1_epi32(0x7fffffff));
    const __m512i least
            = _mm512_castps_si512(_mm512_set1_ps(least_ordinary_scale));
    const __m512i one = _mm512_set1_epi32(1);
    return _mm512_cmplt_epu32_mask(
            _mm512_sub_epi32(size, one), _mm512_sub_epi32(least, one));
}

template <data_type_t type, bool checked>
DNNL_DEQUANT_AVX512 bool stage_blocks(const staged_rows_t &all) {
    constexpr bool is_float = is_floating(type);
    constexpr bool is_wide = !is_float && bits_of(type) == 32;
    constexpr dim_t bits = bits_of(type), half = staged_block / 2;
    const bool reorder = all.paired == in_halves<type>;
    // A row's next lines are those of the next columns.
    constexpr dim_t prefetched = 128;
    unsigned found = 0;
    const auto *row = static_cast<const char *>(all.from);
    float *to_row = all.to;
    for (dim_t r = 0; r < all.rows; ++r) {
        for (dim_t i = 0; i < all.count; i += staged_block) {
            const dim_t count = std::min(staged_block, all.count - i);
            const char *const from = row + i * bits / 8;
            const lanes_t lanes = load<type>(from, count);
            if (all.ahead > 0) prefetch_bytes(from + all.ahead, prefetched);
            two_t two = values_of<type>(lanes);
            if (is_float) two = {plain(two.first), plain(two.second)};
            if (is_float && checked)
                found |= unsigned(small_of(two.first))
                         | unsigned(small_of(two.second));
            if (is_wide)
                found |= unsigned(wide_of<type>(lanes.first))
                         | unsigned(wide_of<type>(lanes.second));
            if (reorder) two = reordered(two, all.paired);
            _mm512_storeu_ps(to_row + i, two.first);
            if (count > half) _mm512_storeu_ps(to_row + i + half, two.second);
        }
        row += all.from_pitch;
        to_row += all.to_pitch;
    }
    return found != 0;
}

} // namespace

stage_blocks_t stage_blocks_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::f32: return stage_blocks<t::f32, false>;
    case t::bf16: return stage_blocks<t::bf16, false>;
    case t::f16: return stage_blocks<t::f16, false>;
    case t::u32: return stage_blocks<t::u32, false>;
    case t::s32: return stage_blocks<t::s32, false>;
    case t::u16: return stage_blocks<t::u16, false>;
    case t::s16: return stage_blocks<t::s16, false>;
    case t::u8: return stage_blocks<t::u8, false>;
    case t::s8: return stage_blocks<t::s8, false>;
    case t::u4: return stage_blocks<t::u4, false>;
    case t::s4: return stage_blocks<t::s4, false>;
    default: return nullptr;
    }
}

stage_blocks_t stage_checked_blocks_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::f32: return stage_blocks<t::f32, true>;
    case t::bf16: return stage_blocks<t::bf16, true>;
    case t::f16: return stage_blocks<t::f16, true>;
    default: return nullptr;
    }
}

} // namespace dnnl_dequant
