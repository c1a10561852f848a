#ifndef BASE_SATURATED_HPP
#define BASE_SATURATED_HPP

#include <limits>

#include "base/types.hpp"

namespace dnnl_dequant {

/// Sizes and strides may be any until compile refuses them: a product that no
/// integer holds becomes the largest, so that none is taken for a small one.
inline dim_t saturated_product(dim_t a, dim_t b) {
    dim_t product = 0;
    return __builtin_mul_overflow(a, b, &product)
                   ? std::numeric_limits<dim_t>::max()
                   : product;
}

} // namespace dnnl_dequant

#endif
