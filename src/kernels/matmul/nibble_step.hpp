#ifndef KERNELS_MATMUL_NIBBLE_STEP_HPP
#define KERNELS_MATMUL_NIBBLE_STEP_HPP

#include <algorithm>
#include <cstdint>

#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

/// How much of a column becomes vectors of numbers at once. Where nibbles are
/// looked up, each of `lanes` lanes of what is loaded holds `vectors` of them,
/// and vector j has every lane's j-th.
struct nibble_step_t {
    int vectors = 0;
    int lanes = 16;
    dim_t elements() const { return vectors * dim_t(lanes); }
};

/// Puts a row of src, in whole steps, into the order of lookups.
template <typename element_t>
void arrange_for_nibbles(
        element_t *row, dim_t depth, const nibble_step_t &step) {
    constexpr dim_t most_elements = 128;
    const dim_t vectors = step.vectors, lanes = step.lanes;
    element_t natural[most_elements];
    for (dim_t k = 0; k < depth; k += step.elements()) {
        std::copy_n(row + k, step.elements(), natural);
        for (dim_t j = 0; j < vectors; ++j)
            for (dim_t i = 0; i < lanes; ++i)
                row[k + j * lanes + i] = natural[i * vectors + j];
    }
}

/// Of rows of src as the weights are multiplied.
inline void arrange_for_nibbles(
        void *row, const gemv_weights_t &weights, const nibble_step_t &step) {
    if (weights.multiplied == data_type_t::bf16)
        arrange_for_nibbles(static_cast<uint16_t *>(row), weights.depth, step);
    else arrange_for_nibbles(static_cast<float *>(row), weights.depth, step);
}

} // namespace dnnl_dequant

#endif
