#include "kernels/elementwise/avx_copy_rows.hpp"

#include <array>
#include <cstring>

#include <immintrin.h>

namespace dnnl_dequant {

namespace {

constexpr dim_t dst_ahead = 4096, src_ahead = 512, line = 64, half_line = 32;

template <typename T>
void strided(char *dst, const char *src, dim_t stride, dim_t count) {
    constexpr auto size = static_cast<dim_t>(sizeof(T));
    for (dim_t i = 0; i < count; ++i)
        std::memcpy(dst + i * size, src + i * stride * size, sizeof(T));
}

// Rows of one or two chunks of a size that the compiler moves at once. Two
// overlap where they are longer than the row.
template <size_t chunk>
void move_rows(const short_rows_t &rows) {
    char *dst = rows.dst;
    const char *src = rows.src;
    const dim_t second = rows.bytes - dim_t {chunk};
    for (dim_t r = 0; r < rows.count;
            ++r, dst += rows.dst_pitch, src += rows.src_pitch) {
        struct {
            char bytes[chunk];
        } first, last;
        std::memcpy(&first, src, chunk);
        std::memcpy(&last, src + second, chunk);
        std::memcpy(dst, &first, chunk);
        if (second != 0) std::memcpy(dst + second, &last, chunk);
    }
}

} // namespace

void copy_short_rows(const short_rows_t &rows) {
    if (rows.bytes >= 16) return move_rows<16>(rows);
    if (rows.bytes >= 8) return move_rows<8>(rows);
    if (rows.bytes >= 4) return move_rows<4>(rows);
    if (rows.bytes >= 2) return move_rows<2>(rows);
    move_rows<1>(rows);
}

__attribute__((target("avx2,prfchw"))) void copy_row_ahead(
        char *dst, const char *src, dim_t bytes) {
    dim_t b = 0;
    for (; b + line <= bytes; b += line) {
        __builtin_prefetch(dst + b + dst_ahead, 1);
        __builtin_prefetch(src + b + src_ahead, 0);
        const auto *from = reinterpret_cast<const __m256i *>(src + b);
        auto *to = reinterpret_cast<__m256i *>(dst + b);
        const __m256i low = _mm256_loadu_si256(from);
        const __m256i high = _mm256_loadu_si256(from + 1);
        _mm256_storeu_si256(to, low);
        _mm256_storeu_si256(to + 1, high);
    }
    if (b == bytes) return;
    __builtin_prefetch(dst + b + dst_ahead, 1);
    if (b + half_line <= bytes) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(dst + b),
                _mm256_loadu_si256(reinterpret_cast<const __m256i *>(src + b)));
        b += half_line;
    }
    std::memcpy(dst + b, src + b, static_cast<size_t>(bytes - b));
}

void copy_strided(char *dst, const char *src, dim_t element_bytes, dim_t stride,
        dim_t count) {
    switch (element_bytes) {
    case 1: return strided<uint8_t>(dst, src, stride, count);
    case 2: return strided<uint16_t>(dst, src, stride, count);
    case 4: return strided<uint32_t>(dst, src, stride, count);
    case 8: return strided<uint64_t>(dst, src, stride, count);
    default: return strided<std::array<uint64_t, 2>>(dst, src, stride, count);
    }
}

void join_nibbles(uint8_t *dst, const uint8_t *bytes, bool upper, dim_t count) {
    constexpr dim_t step = 32;
    const int shift = upper ? 4 : 0;
    const __m128i nibble = _mm_set1_epi8(15), low_byte = _mm_set1_epi16(255);
    const auto pairs = [&](const uint8_t *from) {
        const __m128i two
                = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
        const __m128i one = _mm_and_si128(_mm_srli_epi16(two, shift), nibble);
        return _mm_and_si128(
                _mm_or_si128(one, _mm_srli_epi16(one, 4)), low_byte);
    };
    dim_t i = 0;
    for (; i + step <= count; i += step)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + i / 2),
                _mm_packus_epi16(pairs(bytes + i), pairs(bytes + i + 16)));
    for (; i < count; i += 2) {
        const int first = bytes[i] >> shift & 15;
        const int second
                = i + 1 < count ? bytes[i + 1] >> shift & 15 : dst[i / 2] >> 4;
        dst[i / 2] = static_cast<uint8_t>(first | second << 4);
    }
}

} // namespace dnnl_dequant
