#include "kernels/dequantize/jit_pack_dst.hpp"

#include <algorithm>
#include <cstdint>

#include <immintrin.h>

namespace dnnl_dequant {

namespace {

void put(uint8_t *dst, int bits, dim_t element, unsigned value) {
    const dim_t per_byte = 8 / bits;
    const int shift = static_cast<int>(element % per_byte) * bits;
    const unsigned mask = ((1u << bits) - 1u) << shift;
    uint8_t &byte = dst[element / per_byte];
    byte = static_cast<uint8_t>((byte & ~mask) | (value << shift & mask));
}

// Packs 32 bytes to 16 of two nibbles each.
__attribute__((target("avx2"))) __m128i nibbles_of(const uint8_t *from) {
    const __m256i bytes = _mm256_and_si256(
            _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)),
            _mm256_set1_epi8(15));
    // low + 16 * high
    const __m256i words
            = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x1001));
    return _mm_packus_epi16(
            _mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

uint8_t byte_of_quarters(const uint8_t *from) {
    return static_cast<uint8_t>((from[0] & 3) | (from[1] & 3) << 2
                                | (from[2] & 3) << 4 | (from[3] & 3) << 6);
}

// Whole bytes of dst from `dst` on; returns how many elements they took.
__attribute__((target("avx2"))) dim_t pack_bytes(
        uint8_t *dst, int bits, const uint8_t *from, dim_t count) {
    dim_t i = 0;
    if (bits == 4) {
        for (; i + 32 <= count; i += 32)
            _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + i / 2),
                    nibbles_of(from + i));
        for (; i + 2 <= count; i += 2)
            dst[i / 2] = static_cast<uint8_t>(
                    (from[i] & 15) | (from[i + 1] & 15) << 4);
        return i;
    }
    for (; i + 4 <= count; i += 4)
        dst[i / 4] = byte_of_quarters(from + i);
    return i;
}

} // namespace

void pack_bits(
        void *dst, int bits, dim_t first, const void *from, dim_t count) {
    auto *const out = static_cast<uint8_t *>(dst);
    const auto *const values = static_cast<const uint8_t *>(from);
    const dim_t per_byte = 8 / bits;
    const dim_t head
            = std::min(count, (per_byte - first % per_byte) % per_byte);
    for (dim_t i = 0; i < head; ++i)
        put(out, bits, first + i, values[i]);
    dim_t i = head;
    if (count - head >= per_byte)
        i += pack_bytes(out + (first + head) / per_byte, bits, values + head,
                count - head);
    for (; i < count; ++i)
        put(out, bits, first + i, values[i]);
}

} // namespace dnnl_dequant
