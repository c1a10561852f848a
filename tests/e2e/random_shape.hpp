#ifndef E2E_RANDOM_SHAPE_HPP
#define E2E_RANDOM_SHAPE_HPP

#include "base/types.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace e2e {

/// Returns a shape of rank 1 to 4, most often small; rarely with an empty
/// dimension.
dims_t any_shape(support::random_t &random);

/// Returns as many elements in other dimensions, most often of the same cuts.
dims_t any_reshape(support::random_t &random, const dims_t &from);

} // namespace e2e
} // namespace dnnl_dequant

#endif
