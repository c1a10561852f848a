#ifndef KERNELS_QUANTIZE_JIT_ROW_FACTORS_HPP
#define KERNELS_QUANTIZE_JIT_ROW_FACTORS_HPP

#include "kernels/quantize/jit_row_parameters.hpp"

namespace dnnl_dequant {

/// Floats have a unit in the last place of 1 around this one, 2^22 up and down.
constexpr float integers_from = 0x1.8p23f;

/// Makes factors and sums of what make_row_parameters() has made of bf16 or f16
/// and of ordinary scales. A sum is integers_from and the zero point. A factor
/// is 0 or, for any x of the row,
///
///      round(x * factor) = round(f32(x / scale)),   no x * factor being a tie
///
/// The scale is the width of the row's range in N steps, N = 127, 254 or 255,
/// rounded to f32. This and the rounding of x / scale move a quotient by less
/// than 2^-23 of it. The factor is N / width, rounded and moved by one unit in
/// the last place, so it differs by less than 2^-22 of it. So x matters only if
/// its exact quotient is that near to n / 2, with n odd and below 512:
///
///      2 * N * x  and  n * width
///
/// are multiples of two units of x and of one unit of the ends of the range. If
/// both ends have much the same exponent, any difference is at least 2^-22 of
/// them, and only ties are left: 2 * N * x = n * width. Then n has all divisors
/// of N (but 2) that the width has not. Such n are few unless N and the width
/// have many in common. The factor is moved to the side that x / scale takes
/// for all of them, or is 0 if they take both. Without zero points, a scale
/// that is a power of two needs no move: products and quotients are the same,
/// and ties are to even.
void make_row_factors(const row_ranges_t &ranges, row_parameters_t &made);

} // namespace dnnl_dequant

#endif
