#ifndef KERNELS_DEQUANTIZE_JIT_PARAMS_HPP
#define KERNELS_DEQUANTIZE_JIT_PARAMS_HPP

#include "base/data_type.hpp"

namespace dnnl_dequant {

/// Scales and zero points as row kernels want them: dense f32. The machine has
/// AVX2 and F16C. Nothing outside the elements named is read; up to 16 floats
/// past `count` may be written.

/// A zero point of more than 24 bits is no f32. Both parts are: the low one
/// takes the lowest ten bits, and an exact f32 subtraction; the high one's
/// subtraction then rounds once.
struct staged_zps_t {
    float *zps; // the zero points or, where two_part, their low parts
    float *high;
};

/// Zero points beyond this do not leave room for the bias of jit_io_t.
constexpr int64_t max_one_part_zp = 1 << 23;

/// scales[i] = element `first + i * stride` of `base`, f32, bf16 or f16. A NaN
/// becomes one without payload: rounding to bf16 by integers relies on it.
void stage_scales(float *scales, data_type_t type, const void *base,
        dim_t first, dim_t stride, dim_t count);

/// The same for integers up to s32. True where some are beyond
/// max_one_part_zp; what is staged is then of no use.
bool stage_zps(float *zps, data_type_t type, const void *base, dim_t first,
        dim_t stride, dim_t count);

/// Integers up to s32, as two parts.
void stage_zps_two_part(const staged_zps_t &zps, data_type_t type,
        const void *base, dim_t first, dim_t stride, dim_t count);

/// Each of `count` values `times` times over, the first `skip` results left
/// out, `total` results in all. Does not work in place.
void repeat_each(float *to, const float *from, dim_t times, dim_t skip,
        dim_t total);

/// Within each block of 2 * simd_w: the even elements first, then the odd
/// ones. In place, whole blocks.
void pair_blocks(float *values, dim_t count, int simd_w);

} // namespace dnnl_dequant

#endif
