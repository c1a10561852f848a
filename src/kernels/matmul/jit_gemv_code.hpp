#ifndef KERNELS_MATMUL_JIT_GEMV_CODE_HPP
#define KERNELS_MATMUL_JIT_GEMV_CODE_HPP

#include <algorithm>
#include <array>

#include "kernels/jit/generator.hpp"
#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

/// Some rows by panels of columns, down some rows of weights of one group.
/// Scales, zero points and sums are in the order of jit_gemv_code_t::order().
struct jit_gemv_args_t {
    const void *a, *weights;
    const float *scales, *zps;
    float *c, *partial;
    dim_t a_pitch, weights_pitch, c_pitch; // bytes
    dim_t depth, panels; // rows of weights; where two are multiplied, pairs
    // Bytes to the weights that are asked for: of a panel that comes soon, and
    // from the last panels of a strip to the next strip's first.
    dim_t ahead, ahead_last, last_panels;
    dim_t continues, ends; // a group's sums: begun before, scaled here
};

/// Columns of a panel: `vectors` of as many lanes, each of every `vectors`-th
/// column where `deinterleaved`, else one after the other; on AVX2 in the order
/// of make_jit_deinterleave_words().
struct jit_gemv_panel_t {
    int vectors = 0;
    bool deinterleaved = false;
    dim_t lanes = 16;
    dim_t cols() const { return vectors * lanes; }
};

/// The widest that leaves registers for `rows` of sums and divides the columns,
/// which kernels.def says there is, on AVX-512 and on AVX2.
jit_gemv_panel_t gemv_panel_of(const gemv_weights_t &weights, dim_t rows);
jit_gemv_panel_t gemv_panel_of_avx2(const gemv_weights_t &weights, dim_t rows);

/// What is added to the zero points of a panel's vector before they are given.
float gemv_zp_bias(const gemv_weights_t &weights, int vector);
float gemv_zp_bias_avx2(const gemv_weights_t &weights, int vector);

using jit_gemv_code_t = jit_function_t<const jit_gemv_args_t>;

result_t make_jit_gemv_code(const gemv_weights_t &weights,
        const jit_gemv_panel_t &panel, int rows, jit_gemv_code_t &code);

/// The same on AVX2: of weights that the graph rounds, one row.
result_t make_jit_gemv_avx2_code(const gemv_weights_t &weights,
        const jit_gemv_panel_t &panel, int rows, jit_gemv_code_t &code);

/// Puts columns side by side again that lie as nibbles are decoded: in a panel
/// vector v has the v-th of each lane. Of a number of vectors that is known,
/// nothing is divided: by an idiv an element this took 7 in 100 of one row.
template <size_t vectors, size_t lanes = 16>
void join_columns(float *c, dim_t panels) noexcept {
    constexpr size_t cols = vectors * lanes;
    float lane_order[cols];
    for (dim_t p = 0; p < panels; ++p, c += cols) {
        std::copy_n(c, cols, lane_order);
        for (size_t i = 0; i < lanes; ++i)
            for (size_t v = 0; v < vectors; ++v)
                c[i * vectors + v] = lane_order[v * lanes + i];
    }
}

} // namespace dnnl_dequant

#endif
