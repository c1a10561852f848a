// How one element of a buffer, or eight in a row, are read as f32 or s32: the
// innermost part of jit_params.cpp. (A u32 is read as the s32 of its bits.)
// The machine has AVX2 and F16C.

#ifndef KERNELS_DEQUANTIZE_JIT_LOADERS_HPP
#define KERNELS_DEQUANTIZE_JIT_LOADERS_HPP

#include <array>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "base/convert.hpp"

#define DNNL_DEQUANT_AVX2 __attribute__((target("avx2,f16c")))

namespace dnnl_dequant {

template <typename T>
T load_as(const void *from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

inline __m128i load_64_bits(const void *from) {
    return _mm_loadl_epi64(static_cast<const __m128i *>(from));
}

inline __m128i load_128_bits(const void *from) {
    return _mm_loadu_si128(static_cast<const __m128i *>(from));
}

/// eight(from) loads eight elements from the byte at `from` on. one(base,
/// index) loads one.
template <data_type_t type>
struct loader_t;

template <>
struct loader_t<data_type_t::f32> {
    DNNL_DEQUANT_AVX2 static __m256 eight(const void *from) {
        return _mm256_loadu_ps(static_cast<const float *>(from));
    }
    static float one(const char *base, dim_t index) {
        return load_as<float>(base + 4 * index);
    }
};

template <>
struct loader_t<data_type_t::bf16> {
    DNNL_DEQUANT_AVX2 static __m256 eight(const void *from) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(
                _mm256_cvtepu16_epi32(load_128_bits(from)), 16));
    }
    static float one(const char *base, dim_t index) {
        return bf16_to_f32(load_as<uint16_t>(base + 2 * index));
    }
};

template <>
struct loader_t<data_type_t::f16> {
    DNNL_DEQUANT_AVX2 static __m256 eight(const void *from) {
        return _mm256_cvtph_ps(load_128_bits(from));
    }
    DNNL_DEQUANT_AVX2 static float one(const char *base, dim_t index) {
        return _cvtsh_ss(load_as<uint16_t>(base + 2 * index));
    }
};

// Integers of whole bytes.
template <data_type_t type, typename T>
struct integer_loader_t {
    DNNL_DEQUANT_AVX2 static __m256i eight(const void *from) {
        switch (type) {
        case data_type_t::u8: return _mm256_cvtepu8_epi32(load_64_bits(from));
        case data_type_t::s8: return _mm256_cvtepi8_epi32(load_64_bits(from));
        case data_type_t::u16:
            return _mm256_cvtepu16_epi32(load_128_bits(from));
        case data_type_t::s16:
            return _mm256_cvtepi16_epi32(load_128_bits(from));
        default: return _mm256_loadu_si256(static_cast<const __m256i *>(from));
        }
    }
    static int one(const char *base, dim_t index) {
        return static_cast<int>(
                load_as<T>(base + static_cast<dim_t>(sizeof(T)) * index));
    }
};

template <>
struct loader_t<data_type_t::u8> : integer_loader_t<data_type_t::u8, uint8_t> {
};
template <>
struct loader_t<data_type_t::s8> : integer_loader_t<data_type_t::s8, int8_t> {};
template <>
struct loader_t<data_type_t::u16>
    : integer_loader_t<data_type_t::u16, uint16_t> {};
template <>
struct loader_t<data_type_t::s16>
    : integer_loader_t<data_type_t::s16, int16_t> {};
template <>
struct loader_t<data_type_t::u32>
    : integer_loader_t<data_type_t::u32, uint32_t> {};
template <>
struct loader_t<data_type_t::s32>
    : integer_loader_t<data_type_t::s32, int32_t> {};

// Integers of 2 or 4 bits.
template <int bits, bool is_signed>
struct bits_loader_t {
    static constexpr int mask = (1 << bits) - 1, sign = 1 << (bits - 1);

    DNNL_DEQUANT_AVX2 static __m256i eight(const void *from) {
        const __m256i shifts = _mm256_mullo_epi32(_mm256_set1_epi32(bits),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        const int packed
                = bits == 4 ? load_as<int>(from) : load_as<uint16_t>(from);
        const __m256i codes = _mm256_and_si256(
                _mm256_srlv_epi32(_mm256_set1_epi32(packed), shifts),
                _mm256_set1_epi32(mask));
        if (!is_signed) return codes;
        return _mm256_sub_epi32(
                _mm256_xor_si256(codes, _mm256_set1_epi32(sign)),
                _mm256_set1_epi32(sign));
    }
    static int one(const char *base, dim_t index) {
        // Shifts, because the index may be negative and dividing it takes
        // longer.
        constexpr int log2_bits = bits == 4 ? 2 : 1;
        return part(base + (index >> (3 - log2_bits)),
                static_cast<int>(index << log2_bits & 7));
    }
    /// The element that begins at a bit of the byte at `from`.
    static int part(const char *from, int bit) {
        const int code = load_as<uint8_t>(from) >> bit & mask;
        return is_signed ? (code ^ sign) - sign : code;
    }
};

template <>
struct loader_t<data_type_t::u4> : bits_loader_t<4, false> {};
template <>
struct loader_t<data_type_t::s4> : bits_loader_t<4, true> {};
template <>
struct loader_t<data_type_t::u2> : bits_loader_t<2, false> {};
template <>
struct loader_t<data_type_t::s2> : bits_loader_t<2, true> {};

// Floats of up to 8 bits, among all their values.
template <data_type_t type, data_type_t codes>
struct table_loader_t {
    using codes_t = loader_t<codes>;
    using table_t = std::array<float, 256>;

    static const table_t &table() {
        static const table_t values = [] {
            table_t made {};
            for (unsigned code = 0; code < 1u << bits_of(type); ++code)
                made[code] = small_float_to_f32(type, code);
            return made;
        }();
        return values;
    }
    DNNL_DEQUANT_AVX2 static __m256 eight(const void *from) {
        return _mm256_i32gather_ps(table().data(), codes_t::eight(from), 4);
    }
    static float one(const char *base, dim_t index) {
        return table()[static_cast<size_t>(codes_t::one(base, index))];
    }
};

template <>
struct loader_t<data_type_t::f4_e2m1>
    : table_loader_t<data_type_t::f4_e2m1, data_type_t::u4> {};
template <>
struct loader_t<data_type_t::f8_e4m3>
    : table_loader_t<data_type_t::f8_e4m3, data_type_t::u8> {};
template <>
struct loader_t<data_type_t::f8_e5m2>
    : table_loader_t<data_type_t::f8_e5m2, data_type_t::u8> {};
template <>
struct loader_t<data_type_t::f8_e4m3fnuz>
    : table_loader_t<data_type_t::f8_e4m3fnuz, data_type_t::u8> {};
template <>
struct loader_t<data_type_t::f8_e5m2fnuz>
    : table_loader_t<data_type_t::f8_e5m2fnuz, data_type_t::u8> {};
template <>
struct loader_t<data_type_t::e8m0>
    : table_loader_t<data_type_t::e8m0, data_type_t::u8> {};

} // namespace dnnl_dequant

#endif
