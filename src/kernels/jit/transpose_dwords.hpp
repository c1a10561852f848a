#ifndef KERNELS_JIT_TRANSPOSE_DWORDS_HPP
#define KERNELS_JIT_TRANSPOSE_DWORDS_HPP

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Emits code that transposes the first sixteen vectors, of sixteen dwords
/// each, in place. The other sixteen are scratch.
void transpose_dwords(jit_generator_t &code);

/// The same on AVX2: the first eight vectors, of eight dwords each, are
/// transposed into the last eight.
void transpose_dwords_avx2(jit_generator_t &code);

} // namespace dnnl_dequant

#endif
