#include "kernels/quantize/jit_divisors.hpp"

#include <cstring>

#include "kernels/dequantize/jit_loaders.hpp"

namespace dnnl_dequant {

namespace {

bool is_odd(const float *scales, dim_t count) {
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

template <data_type_t type>
bool stage_divisors(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    stage_floats_of(type)(to, base, first, stride, count);
    return is_odd(to, count);
}

template <data_type_t type>
DNNL_DEQUANT_AVX2 bool stage_integers(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count) {
    using loader = loader_t<type>;
    constexpr dim_t simd_w = 8;
    constexpr uint32_t flipped = type == data_type_t::u32 ? 0x80000000u : 0u;
    const auto *bytes = static_cast<const char *>(base);
    const dim_t bits = bits_of(type);
    dim_t i = 0;
    if (stride == 1 && first * bits % 8 == 0)
        for (; i + simd_w <= count; i += simd_w) {
            const __m256i zps = loader::eight(bytes + (first + i) * bits / 8);
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + i),
                    _mm256_xor_si256(
                            zps, _mm256_set1_epi32(static_cast<int>(flipped))));
        }
    for (; i < count; ++i) {
        const auto zp
                = static_cast<uint32_t>(loader::one(bytes, first + i * stride))
                  ^ flipped;
        std::memcpy(to + i, &zp, sizeof(zp));
    }
    return false;
}

} // namespace

stage_t stage_divisors_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::f32: return stage_divisors<t::f32>;
    case t::bf16: return stage_divisors<t::bf16>;
    case t::f16: return stage_divisors<t::f16>;
    case t::e8m0: return stage_divisors<t::e8m0>;
    default: return nullptr;
    }
}

stage_t stage_integers_of(data_type_t type) {
    using t = data_type_t;
    switch (type) {
    case t::u2: return stage_integers<t::u2>;
    case t::s2: return stage_integers<t::s2>;
    case t::u4: return stage_integers<t::u4>;
    case t::s4: return stage_integers<t::s4>;
    case t::u8: return stage_integers<t::u8>;
    case t::s8: return stage_integers<t::s8>;
    case t::u16: return stage_integers<t::u16>;
    case t::s16: return stage_integers<t::s16>;
    case t::u32: return stage_integers<t::u32>;
    case t::s32: return stage_integers<t::s32>;
    default: return nullptr;
    }
}

} // namespace dnnl_dequant
