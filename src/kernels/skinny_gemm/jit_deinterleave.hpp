#ifndef KERNELS_SKINNY_GEMM_JIT_DEINTERLEAVE_HPP
#define KERNELS_SKINNY_GEMM_JIT_DEINTERLEAVE_HPP

#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

struct jit_deinterleave_args_t {
    float *at;
    dim_t panels; // at least one
};

/// Deinterleaves panels of floats in place. On AVX-512 vector j of a panel of
/// `vectors` gets every `vectors`-th element, beginning at j. AVX2
/// deinterleaves words. The first sixteen elements of each half of a panel go
/// to the first four vectors, vector j getting every fourth, beginning at j.
/// Sixteen more go to the next four vectors.
using jit_deinterleave_t = jit_function_t<const jit_deinterleave_args_t>;

/// @param vectors 4 or 8; on AVX-512 also 1 or 2.
/// @param biases The number added to each vector; empty if there are none.
result_t make_jit_deinterleave(isa_t isa, int vectors,
        const std::vector<float> &biases, jit_deinterleave_t &deinterleave);

} // namespace dnnl_dequant

#endif
