#ifndef KERNELS_MATMUL_WEIGHTS_ROUNDING_HPP
#define KERNELS_MATMUL_WEIGHTS_ROUNDING_HPP

#include "kernels/jit/lanes.hpp"
#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

/// How weights are rounded to bf16. A bf16 scale's NaN has nothing below the
/// bits of a bf16, nor has a weight that it was multiplied with.
inline bf16_rounding_t weights_rounding(const gemv_weights_t &weights) {
    return weights.scales.type == data_type_t::bf16 ? bf16_rounding_t::plain
                                                    : bf16_rounding_t::with_nan;
}

} // namespace dnnl_dequant

#endif
