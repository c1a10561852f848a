#ifndef KERNELS_MATMUL_JIT_DOT_CODE_HPP
#define KERNELS_MATMUL_JIT_DOT_CODE_HPP

#include "kernels/jit/generator.hpp"
#include "kernels/matmul/gemv.hpp"
#include "kernels/matmul/nibble_step.hpp"

namespace dnnl_dequant {

/// Columns that one piece of code does, at most.
constexpr int most_dot_cols = 4;

/// Some rows by some columns, down all of the depth.
struct jit_dot_args_t {
    const void *weights[most_dot_cols]; // of each column
    const void *a;                      // arranged
    const float *scales, *zps;          // columns x groups
    float *sums;                        // rows x columns
    dim_t a_pitch;                      // bytes
    dim_t ahead;                        // bytes to the weights read next
};

/// How a column is read: the longest step that divides groups; 0 vectors where
/// none does. Weights of 8 bits are in order instead.
nibble_step_t dot_step_of(const gemv_weights_t &weights);

using jit_dot_code_t = jit_function_t<const jit_dot_args_t>;

result_t make_jit_dot_code(const gemv_weights_t &weights, int rows, int cols,
        jit_dot_code_t &code);

} // namespace dnnl_dequant

#endif
