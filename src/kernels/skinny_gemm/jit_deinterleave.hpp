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

/// Deinterleaves panels of floats in place: vector j of a panel of `vectors`
/// gets every `vectors`-th element, beginning at j.
using jit_deinterleave_t = jit_function_t<const jit_deinterleave_args_t>;

/// @param vectors 1, 2, 4 or 8.
/// @param biases The number added to each vector; empty if there are none.
result_t make_jit_deinterleave(int vectors, const std::vector<float> &biases,
        jit_deinterleave_t &deinterleave);

/// The same on AVX2, which deinterleaves words. The first sixteen elements of
/// each half of a panel go to the first four vectors, vector j getting every
/// fourth, beginning at j. Sixteen more go to the next four vectors.
/// @param vectors 4 or 8.
result_t make_jit_deinterleave_words(int vectors,
        const std::vector<float> &biases, jit_deinterleave_t &deinterleave);

} // namespace dnnl_dequant

#endif
