#ifndef KERNELS_SKINNY_GEMM_JIT_N_LANES_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_N_LANES_CODE_HPP

#include <algorithm>
#include <array>

#include "kernels/jit/generator.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

/// Multiplies some rows by panels of columns, down some rows of weights of one
/// group. Scales, zero points and sums have the order of the panel.
struct jit_n_lanes_args_t {
    const void *a, *weights;
    const float *scales, *zps;
    float *c, *partial;
    dim_t a_pitch, weights_pitch, c_pitch; // bytes
    dim_t depth, panels; // rows of weights, or pairs of rows of bf16
    // Prefetch distances in bytes: within a chunk, and from its last panels to
    // the first panels of the next chunk.
    dim_t ahead, ahead_last, last_panels;
    dim_t continues, ends; // a group's sums: begun before, scaled here
};

/// The columns of a panel: `vectors` of so many lanes each. If `deinterleaved`,
/// vector j has every `vectors`-th column, and on AVX2 the order is that of
/// make_jit_deinterleave_words(). Otherwise columns are in order.
struct jit_n_lanes_panel_t {
    int vectors = 0;
    bool deinterleaved = false;
    dim_t lanes = 16;
    dim_t cols() const { return vectors * lanes; }
};

/// Returns the widest panel that leaves registers for the sums of `rows` rows
/// and divides the columns. kernels.def ensures that there is one.
jit_n_lanes_panel_t n_lanes_panel_of(
        const skinny_weights_t &weights, dim_t rows);
jit_n_lanes_panel_t n_lanes_panel_of_avx2(
        const skinny_weights_t &weights, dim_t rows);

/// Returns the bias that the caller adds to the zero points of a panel's
/// vector.
float n_lanes_zp_bias(const skinny_weights_t &weights, int vector);
float n_lanes_zp_bias_avx2(const skinny_weights_t &weights, int vector);

using jit_n_lanes_code_t = jit_function_t<const jit_n_lanes_args_t>;

result_t make_jit_n_lanes_code(const skinny_weights_t &weights,
        const jit_n_lanes_panel_t &panel, int rows, jit_n_lanes_code_t &code);

/// Makes the same for AVX2. Weights that the graph rounds allow one row.
result_t make_jit_n_lanes_avx2_code(const skinny_weights_t &weights,
        const jit_n_lanes_panel_t &panel, int rows, jit_n_lanes_code_t &code);

/// Restores the order of columns: in a panel vector v has the v-th column of
/// each lane. The number of vectors is a template argument so that nothing is
/// divided: an idiv for each element took 7 % of the time of one row.
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
