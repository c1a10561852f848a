#ifndef KERNELS_ELEMENTWISE_AVX_COPY_ROWS_HPP
#define KERNELS_ELEMENTWISE_AVX_COPY_ROWS_HPP

#include <cstdint>

#include "base/types.hpp"

namespace dnnl_dequant {

/// Copies that go from row to row of dst; the machine has AVX2. Pitches and
/// sizes are in bytes unless said otherwise.

/// Calls for the lines of dst that are so far ahead: rows follow each other.
void copy_row_ahead(char *dst, const char *src, dim_t bytes);

/// Rows that a few moves copy, each of up to short_row_bytes.
struct short_rows_t {
    char *dst;
    const char *src;
    dim_t bytes, count, dst_pitch, src_pitch;
};
constexpr dim_t short_row_bytes = 32;
void copy_short_rows(const short_rows_t &rows);

/// Elements of 1, 2, 4, 8 or 16 bytes, `stride` elements apart in src.
void copy_strided(char *dst, const char *src, dim_t element_bytes, dim_t stride,
        dim_t count);

/// Joins the lower or the upper nibbles of `count` bytes, two a byte. If their
/// number is odd, the last byte's upper half stays.
void join_nibbles(uint8_t *dst, const uint8_t *bytes, bool upper, dim_t count);

} // namespace dnnl_dequant

#endif
