#ifndef KERNELS_DEQUANTIZE_JIT_PARAMS_HPP
#define KERNELS_DEQUANTIZE_JIT_PARAMS_HPP

#include "base/data_type.hpp"
#include "kernels/dequantize/jit_params_blocks.hpp"

namespace dnnl_dequant {

/// Scales and zero points as row kernels want them: dense f32. The machine has
/// AVX2 and F16C. Nothing outside the elements named is read; up to 16 floats
/// past `count` may be written.

/// Writes to[i] for element `first + i * stride` of `base`. True where the
/// values are of no use because a zero point is beyond max_one_part_zp.
using stage_t = bool (*)(
        float *to, const void *base, dim_t first, dim_t stride, dim_t count);

/// The most scales, or zero points, that are staged at once.
constexpr dim_t jit_max_staged = 2048;
/// Floats behind the last that may be read and written.
constexpr dim_t staged_slack = 16;
constexpr dim_t jit_staged_floats = jit_max_staged + staged_slack; // each kind
/// The prefetch distance, in bytes of parameters.
constexpr dim_t param_bytes_ahead = 2048;
/// Bytes from a zero point, or its low part, to its high part.
constexpr uint32_t zps_high_at = 4 * jit_staged_floats;

/// Zero points beyond this do not leave room for the bias of jit_io_t, which is
/// 2^23 and more.
constexpr int64_t max_one_part_zp = 1 << 22;

/// Stages scales of any floating type; null for other types. A NaN becomes one
/// without payload: rounding to bf16 by integers relies on it.
stage_t stage_floats_of(data_type_t type);

/// The same of scales; true where some are small: not zero and less than
/// least_ordinary_scale. No integer, f16 or float of 8 bits times any other is
/// subnormal.
stage_t stage_checked_floats_of(data_type_t type);

/// Stages scales of 16 bits and more and e8m0, to divide by. Returns true if
/// one is not ordinary: dividing by its reciprocal (quantize/jit_quantizer.hpp)
/// may not give the quotient. Such scales have a significand of all ones, or a
/// magnitude outside [2^-60, 2^60], zero, infinity and NaN among them.
stage_t stage_divisors_of(data_type_t type);

/// Writes the reciprocals of so many floats, which do not overlap `to`.
void invert(float *to, const float *from, dim_t count) noexcept;

/// Zero points: as one f32 each; or, since 32 bits make no f32, in two parts.
/// The low part is the lowest ten bits, so that subtracting it is exact;
/// subtracting the high part then rounds once. Floating zero points have one
/// part only; of floats of 8 bits and fewer `whole` is true where some are not
/// +0. It is null for types that are none of these. `s32` keeps integers as
/// integers of 32 bits, those of u32 less 2^31; it is null for floats.
/// `checked_s32` is true where one of type s32 is beyond most_near_zp.
struct zps_stages_t {
    stage_t whole, low, high, s32, checked_s32;
};
constexpr int most_near_zp = 1 << 22;
zps_stages_t stages_of_zps(data_type_t type);

/// The same as stage_blocks_of() for machines without AVX-512.
stage_blocks_t stage_rows_of(data_type_t type);

/// Writes each value `times` times over, without the first `skip` results,
/// `total` results in all, and up to 7 floats more. Reads up to 7 floats past
/// the last value. It does not work in place.
void repeat_each(
        float *to, const float *from, dim_t times, dim_t skip, dim_t total);

/// The same for `rows` of values at once, each value fewer than most_repeats
/// times, at least twice. Writes whole eights, and reads up to 7 floats past
/// the last value. The machine has AVX2.
constexpr dim_t most_repeats = 16;
struct repeated_rows_t {
    float *to;
    const float *from;
    dim_t rows, to_pitch, from_pitch; // to_pitch: a multiple of 8
};
void repeat_each(
        const repeated_rows_t &all, dim_t times, dim_t skip, dim_t total);

/// Writes rows of `period` values over and over, without the first `skip`
/// results, `total` results in all, in whole eights. The machine has AVX2.
constexpr dim_t most_period = 256;
void repeat_periods(
        const repeated_rows_t &all, dim_t period, dim_t skip, dim_t total);

/// Moves, within each block of 2 * lanes (8 or 16), the even elements before
/// the odd ones. It works in place, on whole blocks.
void pair_blocks(float *values, dim_t count, int lanes);

} // namespace dnnl_dequant

#endif
