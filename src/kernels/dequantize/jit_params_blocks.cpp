// 32 scales or zero points at a time. What two vectors hold is in the order
// that is natural to the type: one half after the other, or the even elements
// and the odd ones, which are parts of the same lanes.

#include "kernels/dequantize/jit_params_blocks.hpp"

#include <array>
#include <limits>

#include <immintrin.h>

#define DNNL_DEQUANT_AVX512 __attribute__((target("avx512f")))

namespace dnnl_dequant {

namespace {

// GCC 12 warns of its own header, where what is undefined is masked away.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

struct two_t {
    __m512 first, second;
};

template <data_type_t type>
constexpr bool in_halves = type == data_type_t::f32 || type == data_type_t::f16;

DNNL_DEQUANT_AVX512 __m512i dwords(const void *from) {
    return _mm512_loadu_si512(from);
}

DNNL_DEQUANT_AVX512 __m256i words(const void *from) {
    return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}

DNNL_DEQUANT_AVX512 __m128i bytes(const void *from) {
    return _mm_loadu_si128(static_cast<const __m128i *>(from));
}

DNNL_DEQUANT_AVX512 two_t converted(__m512i first, __m512i second) {
    return {_mm512_cvtepi32_ps(first), _mm512_cvtepi32_ps(second)};
}

// The lowest `bits` of each lane and as many above them, all lanes' others
// being anything.
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

template <data_type_t type>
DNNL_DEQUANT_AVX512 two_t load(const char *from) {
    using t = data_type_t;
    constexpr bool is_signed = type == t::s4 || type == t::s8;
    switch (type) {
    case t::f32: return {_mm512_loadu_ps(from), _mm512_loadu_ps(from + 64)};
    case t::f16:
        return {_mm512_cvtph_ps(words(from)),
                _mm512_cvtph_ps(words(from + 32))};
    case t::bf16: {
        const __m512i both = dwords(from), upper = _mm512_set1_epi32(~0xffff);
        return {_mm512_castsi512_ps(_mm512_slli_epi32(both, 16)),
                _mm512_castsi512_ps(_mm512_and_si512(both, upper))};
    }
    case t::u8:
    case t::s8:
        return parts_of<8, is_signed>(_mm512_cvtepu16_epi32(words(from)));
    default: return parts_of<4, is_signed>(_mm512_cvtepu8_epi32(bytes(from)));
    }
}

// Either order of two vectors from the other.
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

DNNL_DEQUANT_AVX512 __mmask16 subnormals_of(__m512 values) {
    const __m512i bits = _mm512_castps_si512(values);
    const __mmask16 small
            = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x7f800000));
    return _mm512_mask_test_epi32_mask(
            small, bits, _mm512_set1_epi32(0x007fffff));
}

template <data_type_t type>
DNNL_DEQUANT_AVX512 bool stage_blocks(
        float *to, const void *from, dim_t count, bool paired) {
    const auto *bytes = static_cast<const char *>(from);
    const dim_t bits = bits_of(type);
    const bool reorder = paired == in_halves<type>;
    constexpr bool has_subnormals
            = type == data_type_t::f32 || type == data_type_t::bf16;
    unsigned subnormals = 0;
    for (dim_t i = 0; i < count; i += staged_block) {
        two_t two = load<type>(bytes + i * bits / 8);
        if (in_halves<type> || type == data_type_t::bf16)
            two = {plain(two.first), plain(two.second)};
        if (has_subnormals)
            subnormals |= unsigned(subnormals_of(two.first))
                          | unsigned(subnormals_of(two.second));
        if (reorder) two = reordered(two, paired);
        _mm512_storeu_ps(to + i, two.first);
        _mm512_storeu_ps(to + i + staged_block / 2, two.second);
    }
    return subnormals != 0;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

} // namespace

stage_blocks_t stage_blocks_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::f32: return stage_blocks<t::f32>;
    case t::bf16: return stage_blocks<t::bf16>;
    case t::f16: return stage_blocks<t::f16>;
    case t::u8: return stage_blocks<t::u8>;
    case t::s8: return stage_blocks<t::s8>;
    case t::u4: return stage_blocks<t::u4>;
    case t::s4: return stage_blocks<t::s4>;
    default: return nullptr;
    }
}

} // namespace dnnl_dequant
