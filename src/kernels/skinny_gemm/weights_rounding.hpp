#ifndef KERNELS_SKINNY_GEMM_WEIGHTS_ROUNDING_HPP
#define KERNELS_SKINNY_GEMM_WEIGHTS_ROUNDING_HPP

#include "kernels/jit/lanes.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

/// How weights are rounded to bf16. A NaN of a bf16 scale has no bits below
/// those of a bf16. Nor has the product of that scale and a weight.
inline bf16_rounding_t weights_rounding(const skinny_weights_t &weights) {
    return weights.scales.type == data_type_t::bf16 ? bf16_rounding_t::plain
                                                    : bf16_rounding_t::with_nan;
}

} // namespace dnnl_dequant

#endif
