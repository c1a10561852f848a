#include "kernels/skinny_gemm/digit_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/bits.hpp"
#include "kernels/jit/avx512_intrinsics.hpp"

#define DNNL_DEQUANT_VNNI \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace dnnl_dequant {

namespace {

constexpr size_t line = digit_rows_t::line;
constexpr int digits = digit_rows_t::digits;
// Sixteen elements each; a chunk of 2-bit weights has 256.
constexpr int most_parts = 16;

// Integers of 24 bits, and what remains of the elements.
struct split_t {
    __m512i integers[most_parts];
    __m512 rests[most_parts];
};

DNNL_DEQUANT_VNNI __m512 magnitudes_of(__m512 x) {
    return _mm512_andnot_ps(_mm512_set1_ps(-0.f), x);
}

// Returns the least exponent, so that multiples of 2^exponent of three digits
// reach `largest`. A digit has a sign: the greatest integer is 0x7f7f7f.
int exponent_of(float largest) {
    constexpr uint32_t beyond_7f7f7f = 2 * 0x8081;
    constexpr int bias = 127, significand = 23;
    const auto biased = static_cast<int>(
            (bits_of_f32(largest) + beyond_7f7f7f) >> significand);
    return biased + 1 - bias - significand;
}

DNNL_DEQUANT_VNNI float power_of_2(int exponent) {
    return _mm512_cvtss_f32(_mm512_scalef_ps(
            _mm512_set1_ps(1), _mm512_set1_ps(static_cast<float>(exponent))));
}

// Takes multiples of 2^exponent out of the rests, which is exact.
DNNL_DEQUANT_VNNI void split(split_t &s, int parts, int exponent) {
    const __m512 up = _mm512_set1_ps(static_cast<float>(-exponent)),
                 down = _mm512_set1_ps(static_cast<float>(exponent));
    for (int p = 0; p < parts; ++p) {
        // An integer may be one more than the element, beyond f32.
        const __m512 scaled = _mm512_scalef_ps(s.rests[p], up);
        s.integers[p] = _mm512_cvtps_epi32(scaled);
        s.rests[p] = _mm512_scalef_ps(
                _mm512_sub_ps(scaled, _mm512_cvtepi32_ps(s.integers[p])), down);
    }
}

// Adds up magnitudes as multiples of 2^exponent, whose sums do not overflow.
DNNL_DEQUANT_VNNI float sum_of_magnitudes(
        const split_t &s, int parts, int exponent) {
    const __m512 up = _mm512_set1_ps(static_cast<float>(-exponent));
    __m512 sum = _mm512_setzero_ps();
    for (int p = 0; p < parts; ++p)
        sum = _mm512_add_ps(
                sum, _mm512_scalef_ps(magnitudes_of(s.rests[p]), up));
    return _mm512_reduce_add_ps(sum);
}

// Stores 64 bytes in the order of elements as vectors of every second or
// fourth.
DNNL_DEQUANT_VNNI void store_vectors(__m512i bytes, int vectors, char *to) {
    for (int v = 0; v < vectors; ++v, to += line) {
        if (vectors == 2)
            _mm256_store_si256(reinterpret_cast<__m256i *>(to),
                    _mm512_cvtepi16_epi8(
                            v == 0 ? bytes : _mm512_srli_epi16(bytes, 8)));
        else
            _mm_store_si128(reinterpret_cast<__m128i *>(to),
                    _mm512_cvtepi32_epi8(_mm512_srli_epi32(
                            bytes, static_cast<unsigned>(8 * v))));
    }
}

// Sixteen digits of a place, in order. To add 128 to every digit of an integer
// at once takes 256 from the next one where a digit has 128 or more. The digits
// are bytes with their highest bit turned then.
DNNL_DEQUANT_VNNI __m128i digits_of(__m512i integers, int place) {
    const __m512i turned
            = _mm512_add_epi32(integers, _mm512_set1_epi32(0x808080));
    return _mm_xor_si128(_mm_set1_epi8(static_cast<char>(0x80)),
            _mm512_cvtepi32_epi8(_mm512_srli_epi32(
                    turned, static_cast<unsigned>(8 * place))));
}

DNNL_DEQUANT_VNNI void store_in_order(const split_t &s, int parts, char *to) {
    for (int d = 0; d < digits; ++d)
        for (int p = 0; p < parts; ++p, to += sizeof(__m128i))
            _mm_store_si128(reinterpret_cast<__m128i *>(to),
                    digits_of(s.integers[p], d));
}

DNNL_DEQUANT_VNNI void store_digits(
        const split_t &s, int parts, int vectors, char *to) {
    if (vectors == 1) return store_in_order(s, parts, to);
    constexpr int parts_of_bytes = 4;
    for (int p = 0; p < parts; p += parts_of_bytes)
        for (int d = 0; d < digits; ++d) {
            alignas(line) __m128i bytes[parts_of_bytes];
            for (int i = 0; i < parts_of_bytes; ++i)
                _mm_store_si128(bytes + i, digits_of(s.integers[p + i], d));
            store_vectors(_mm512_load_si512(bytes), vectors,
                    to + d * vectors * static_cast<int>(line)
                            + p * digit_rows_t::lanes / vectors);
        }
}

// The integers of a lane of weights, added up: 2^28 at most.
DNNL_DEQUANT_VNNI __m512 sum_lanes(const char *of_digits, int vectors) {
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sums = _mm512_setzero_si512();
    for (int d = digits; d-- > 0;) {
        sums = _mm512_slli_epi32(sums, 8);
        for (int v = 0; v < vectors; ++v)
            sums = _mm512_dpbusd_epi32(sums, ones,
                    _mm512_load_si512(
                            of_digits
                            + static_cast<size_t>(d * vectors + v) * line));
    }
    return _mm512_cvtepi32_ps(sums);
}

// The sum of all integers in each lane.
DNNL_DEQUANT_VNNI __m512 sum_all(const split_t &s, int parts) {
    __m512i sums = _mm512_setzero_si512();
    for (int p = 0; p < parts; ++p)
        sums = _mm512_add_epi32(sums, s.integers[p]);
    return _mm512_set1_ps(_mm512_reduce_add_ps(_mm512_cvtepi32_ps(sums)));
}

// Stores digits, and returns the sums of what they stand for.
DNNL_DEQUANT_VNNI __m512 store_and_sum(
        const split_t &s, int parts, int vectors, char *to, float unit) {
    store_digits(s, parts, vectors, to);
    return _mm512_mul_ps(
            vectors == 1 ? sum_all(s, parts) : sum_lanes(to, vectors),
            _mm512_set1_ps(unit));
}

} // namespace

DNNL_DEQUANT_VNNI void digit_rows_t::make_chunk(
        const float *from, dim_t chunk, char *row) const noexcept {
    constexpr float most_rest = 0x1p-20f;
    constexpr int rest_exponent = 1 - 8 * digits;
    const int parts = static_cast<int>(elements() / lanes);
    from += chunk * elements();
    char *const to = row + static_cast<size_t>(chunk) * chunk_bytes();
    std::memcpy(const_cast<float *>(elements_of(row)) + chunk * elements(),
            from, static_cast<size_t>(elements()) * sizeof(float));

    split_t s;
    __m512 largest = _mm512_setzero_ps();
    for (int p = 0; p < parts; ++p) {
        s.rests[p] = _mm512_loadu_ps(from + p * lanes);
        // Bits are compared, so that NaN is larger than infinity.
        largest = _mm512_castsi512_ps(
                _mm512_max_epi32(_mm512_castps_si512(largest),
                        _mm512_castps_si512(magnitudes_of(s.rests[p]))));
    }
    const auto bits = static_cast<uint32_t>(
            _mm512_reduce_max_epi32(_mm512_castps_si512(largest)));
    auto &about = *reinterpret_cast<about_t *>(to + about_place());
    constexpr uint32_t infinity = 0x7f800000;
    about.has_rest = 0;
    if (bits >= infinity) {
        std::memset(to, 0, about_place());
        std::memset(about.sums, 0, sizeof(about.sums));
        about.unit = about.rest_unit = std::numeric_limits<float>::quiet_NaN();
        return;
    }
    const int exponent = exponent_of(f32_of_bits(bits));
    about.unit = power_of_2(exponent);
    // Every f32 is a multiple of 2^-149.
    const int of_rests = std::max(exponent + rest_exponent, -149);
    about.rest_unit = power_of_2(of_rests);
    const float all = sum_of_magnitudes(s, parts, exponent);
    split(s, parts, exponent);
    __m512 sums = store_and_sum(s, parts, vectors, to, about.unit);
    if (sum_of_magnitudes(s, parts, exponent) > all * most_rest) {
        about.has_rest = 1;
        split(s, parts, of_rests);
        sums = _mm512_add_ps(
                sums, store_and_sum(s, parts, vectors, to + digits_bytes(),
                              about.rest_unit));
    }
    _mm512_store_ps(about.sums, sums);
}

} // namespace dnnl_dequant
