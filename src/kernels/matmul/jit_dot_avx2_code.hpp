#ifndef KERNELS_MATMUL_JIT_DOT_AVX2_CODE_HPP
#define KERNELS_MATMUL_JIT_DOT_AVX2_CODE_HPP

#include "kernels/jit/generator.hpp"
#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

/// How weights are taken on AVX2, a column's depth after the other. Their depth
/// is in pieces, each of one scale and zero point: groups, or parts of the only
/// one.
struct jit_dot_avx2_shape_t {
    explicit jit_dot_avx2_shape_t(const gemv_weights_t &weights);

    dim_t step;          // elements that are done together
    dim_t piece, pieces; // whole ones; the rest is shorter
    dim_t rest;
    /// A piece's sums are scaled, not the weights.
    bool scales_sums;
    /// Of the f32 that a nibble stands for, as many bytes are not all zero.
    int planes;

    /// Elements at the end that are no whole step.
    dim_t tail() const { return rest % step; }
    /// What one piece of code does, at most; and columns of so many rows.
    int most_rows() const { return planes > 2 ? 2 : 4; }
    int cols(int rows) const { return planes > 2 || rows > 2 ? 1 : 2; }
};

constexpr int most_dot_avx2_rows = 4, most_dot_avx2_cols = 2;
/// A sum is in so many parts, one a lane.
constexpr dim_t dot_avx2_parts = 8;

/// Some rows by columns, down some pieces. Of columns done together what is
/// given is the first one's, and goes on to the next ones'.
struct jit_dot_avx2_args_t {
    const void *weights;
    const void *tails[most_dot_avx2_cols]; // last ones, a step's room each
    const void *a;                         // arranged
    const float *scales, *zps;             // the first piece's
    float *sums;                           // rows x columns, in parts
    dim_t weights_pitch, parameters_pitch; // bytes, by column and by piece
    dim_t a_pitch, sums_pitch;             // bytes, by row
    dim_t ahead;                           // prefetch distance, bytes
    dim_t pieces, has_rest;
    // Columns over those done together; 1 where there is a tail.
    dim_t iterations;
};

/// Adds to the sums.
using jit_dot_avx2_code_t = jit_function_t<jit_dot_avx2_args_t>;

/// Parameters of columns lie one after the other, by column groups() apart.
result_t make_jit_dot_avx2_code(
        const gemv_weights_t &weights, int rows, jit_dot_avx2_code_t &code);

} // namespace dnnl_dequant

#endif
