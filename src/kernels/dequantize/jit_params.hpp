#ifndef KERNELS_DEQUANTIZE_JIT_PARAMS_HPP
#define KERNELS_DEQUANTIZE_JIT_PARAMS_HPP

#include "base/data_type.hpp"

namespace dnnl_dequant {

/// Scales and zero points as row kernels want them: dense f32. The machine has
/// AVX2 and F16C. Nothing outside the elements named is read; up to 16 floats
/// past `count` may be written.

/// Writes to[i] for element `first + i * stride` of `base`. True where the
/// values are of no use because a zero point is beyond max_one_part_zp.
using stage_t = bool (*)(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count);

/// Zero points beyond this do not leave room for the bias of jit_io_t.
constexpr int64_t max_one_part_zp = 1 << 23;

/// For f32, bf16, f16. A NaN becomes one without payload: rounding to bf16 by
/// integers relies on it.
stage_t stage_scales(data_type_t type);

/// For integers up to s32.
stage_t stage_zps(data_type_t type);

/// The same in two parts, since 32 bits make no f32; for s32. The low part is
/// the lowest ten bits, so that subtracting it is exact; subtracting the high
/// part then rounds once.
bool stage_zps_low(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count);
bool stage_zps_high(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count);

/// Each value `times` times over, the first `skip` of the results left out,
/// `total` results in all. Does not work in place.
void repeat_each(
        float *to, const float *from, dim_t times, dim_t skip, dim_t total);

/// Within each block of 2 * simd_w: the even elements first, then the odd
/// ones. In place, whole blocks.
void pair_blocks(float *values, dim_t count, int simd_w);

} // namespace dnnl_dequant

#endif
