#ifndef KERNELS_MATMUL_JIT_TRANSPOSE_DWORDS_HPP
#define KERNELS_MATMUL_JIT_TRANSPOSE_DWORDS_HPP

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Emits: the first sixteen vectors, of sixteen dwords each, are transposed in
/// place by way of the other sixteen.
void transpose_dwords(jit_generator_t &code);

} // namespace dnnl_dequant

#endif
