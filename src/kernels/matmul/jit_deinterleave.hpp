#ifndef KERNELS_MATMUL_JIT_DEINTERLEAVE_HPP
#define KERNELS_MATMUL_JIT_DEINTERLEAVE_HPP

#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

struct jit_deinterleave_args_t {
    float *at;
    dim_t panels; // at least one
};

/// Puts panels of floats, in place, into the order of their lanes: vector j of
/// a panel of `vectors` gets every `vectors`-th element, from j on.
using jit_deinterleave_t = jit_function_t<const jit_deinterleave_args_t>;

/// vectors  1, 2, 4 or 8
/// biases   what each vector is increased by; none where there are none
result_t make_jit_deinterleave(int vectors, const std::vector<float> &biases,
        jit_deinterleave_t &deinterleave);

/// The same on AVX2, where words are deinterleaved: of each half of a panel the
/// first sixteen go to the first four vectors, vector j getting every fourth
/// from j on, and sixteen more to the next four.
/// vectors  4 or 8
result_t make_jit_deinterleave_words(int vectors,
        const std::vector<float> &biases, jit_deinterleave_t &deinterleave);

} // namespace dnnl_dequant

#endif
