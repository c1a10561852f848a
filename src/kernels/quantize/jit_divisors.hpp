#ifndef KERNELS_QUANTIZE_JIT_DIVISORS_HPP
#define KERNELS_QUANTIZE_JIT_DIVISORS_HPP

#include "kernels/dequantize/jit_params.hpp"

namespace dnnl_dequant {

/// Scales as f32. True where one is not ordinary, that is, where dividing by
/// its reciprocal (jit_quantizer.hpp) may not give the quotient: a significand
/// of all ones, or a magnitude outside [2^-60, 2^60], zero, infinity and NaN
/// among them. Null for types that are no scales.
stage_t stage_divisors_of(data_type_t type);

/// Zero points of up to 32 bits as integers of 32 bits; of u32 less 2^31. Null
/// for other types.
stage_t stage_integers_of(data_type_t type);

} // namespace dnnl_dequant

#endif
