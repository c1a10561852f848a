#ifndef KERNELS_JIT_TRANSPOSE_FLOATS_HPP
#define KERNELS_JIT_TRANSPOSE_FLOATS_HPP

#include <immintrin.h>

#include "base/types.hpp"

namespace dnnl_dequant {

/// Loads eight rows of eight floats, `pitch` floats apart, and transposes them.
__attribute__((target("avx2"))) inline void load_transposed(
        const float *from, dim_t pitch, __m256 (&columns)[8]) noexcept {
    __m256 a[8], b[8];
    for (int i = 0; i < 8; ++i)
        a[i] = _mm256_loadu_ps(from + i * pitch);
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; ++j) {
            a[i + 2 * j] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0x44);
            a[i + 2 * j + 1] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0xee);
        }
    for (int i = 0; i < 4; ++i) {
        columns[i] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
        columns[i + 4] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
    }
}

} // namespace dnnl_dequant

#endif
