// Zero points of 4 and 8 bits, with what row kernels subtract besides.

#include "kernels/dequantize/jit_params_blocks.hpp"

#include <algorithm>

#include "base/prefetch.hpp"

#include "kernels/jit/avx512_intrinsics.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t simd_w = 16;

DNNL_DEQUANT_AVX512 __m128i first_bytes(const char *from, dim_t count) {
    return _mm_maskz_loadu_epi8(
            static_cast<__mmask16>((1u << count) - 1), from);
}

// The same in all even lanes, and in all odd ones.
DNNL_DEQUANT_AVX512 __m512i in_turns(int even, int odd) {
    return _mm512_set4_epi32(odd, even, odd, even);
}

// A nibble of an odd lane stays in the upper half of its byte, in a float of
// 2^19 where the others have 2^23.
template <bool is_signed>
struct biased_nibbles_t {
    static constexpr int half = is_signed ? 8 : 0;
    static constexpr int nothing_above = static_cast<int>(0x80808000u);

    DNNL_DEQUANT_AVX512 explicit biased_nibbles_t(float bias)
        : bytes(_mm512_add_epi32(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4,
                                         5, 5, 6, 6, 7, 7),
                  _mm512_set1_epi32(nothing_above)))
        , mask(in_turns(0x0f, 0xf0))
        , powers(in_turns(0x4b000000 | half, 0x49000000 | half << 4))
        , rest(_mm512_sub_ps(_mm512_set1_ps(bias - static_cast<float>(half)),
                  _mm512_castsi512_ps(in_turns(0x4b000000, 0x49000000)))) {}

    DNNL_DEQUANT_AVX512 __m512 values(const char *from, dim_t count) const {
        constexpr int masked_bits_of = 0x6a; // (a & b) ^ c
        const __m128i packed
                = count == simd_w
                          ? _mm_loadl_epi64(
                                    reinterpret_cast<const __m128i *>(from))
                          : first_bytes(from, (count + 1) / 2);
        const __m512i lanes
                = _mm512_shuffle_epi8(_mm512_broadcastq_epi64(packed), bytes);
        return _mm512_add_ps(
                rest, _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
                              lanes, mask, powers, masked_bits_of)));
    }

    __m512i bytes, mask, powers;
    __m512 rest;
};

template <bool is_signed>
struct biased_bytes_t {
    DNNL_DEQUANT_AVX512 explicit biased_bytes_t(float wanted)
        : bias(_mm512_set1_ps(wanted)) {}

    DNNL_DEQUANT_AVX512 __m512 values(const char *from, dim_t count) const {
        const __m128i packed = first_bytes(from, count);
        const __m512i lanes = is_signed ? _mm512_cvtepi8_epi32(packed)
                                        : _mm512_cvtepu8_epi32(packed);
        return _mm512_add_ps(bias, _mm512_cvtepi32_ps(lanes));
    }

    __m512 bias;
};

template <typename biased_t, dim_t bits>
DNNL_DEQUANT_AVX512 bool stage_biased(const staged_rows_t &all) {
    const biased_t biased(all.bias);
    const auto *row = static_cast<const char *>(all.from);
    const dim_t row_bytes = div_up(all.count * bits, dim_t(8));
    float *to = all.to;
    for (dim_t r = 0; r < all.rows; ++r) {
        if (all.ahead > 0) prefetch_bytes(row + all.ahead, row_bytes);
        for (dim_t i = 0; i < all.count; i += simd_w)
            _mm512_storeu_ps(to + i, biased.values(row + i * bits / 8,
                                             std::min(simd_w, all.count - i)));
        row += all.from_pitch;
        to += all.to_pitch;
    }
    return false;
}

} // namespace

stage_blocks_t stage_biased_blocks_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::u4: return stage_biased<biased_nibbles_t<false>, 4>;
    case t::s4: return stage_biased<biased_nibbles_t<true>, 4>;
    case t::u8: return stage_biased<biased_bytes_t<false>, 8>;
    case t::s8: return stage_biased<biased_bytes_t<true>, 8>;
    default: return nullptr;
    }
}

} // namespace dnnl_dequant
