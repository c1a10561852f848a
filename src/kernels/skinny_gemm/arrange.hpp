#ifndef KERNELS_SKINNY_GEMM_ARRANGE_HPP
#define KERNELS_SKINNY_GEMM_ARRANGE_HPP

#include <algorithm>
#include <cstddef>

#include "base/types.hpp"

namespace dnnl_dequant {

/// Arranges each step of a row so that vector j gets every lane's j-th element.
/// Exchanging the two template arguments undoes it.
///
/// The loops have constant counts, so that the compiler vectorizes them and
/// divides nothing: an idiv for each element took 7 % of the time of one row.
template <dim_t vectors, dim_t lanes, typename element_t>
void arrange_lanes(element_t *row, dim_t depth) noexcept {
    constexpr dim_t step = vectors * lanes;
    element_t natural[static_cast<size_t>(step)];
    for (dim_t k = 0; k < depth; k += step) {
        std::copy_n(row + k, step, natural);
        for (dim_t j = 0; j < vectors; ++j)
            for (dim_t i = 0; i < lanes; ++i)
                row[k + j * lanes + i] = natural[i * vectors + j];
    }
}

/// Returns that function for 8, 4 or 2 vectors, and null for others.
template <dim_t lanes, typename element_t>
auto arrange_lanes_of(dim_t vectors) {
    return vectors == 8   ? arrange_lanes<8, lanes, element_t>
           : vectors == 4 ? arrange_lanes<4, lanes, element_t>
           : vectors == 2 ? arrange_lanes<2, lanes, element_t>
                          : nullptr;
}

/// Returns the function that restores the order of as many vectors.
template <dim_t lanes>
auto restore_lanes_of(dim_t vectors) {
    return vectors == 8   ? arrange_lanes<lanes, 8, float>
           : vectors == 4 ? arrange_lanes<lanes, 4, float>
           : vectors == 2 ? arrange_lanes<lanes, 2, float>
                          : nullptr;
}

} // namespace dnnl_dequant

#endif
