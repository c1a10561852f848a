#ifndef BASE_TYPES_HPP
#define BASE_TYPES_HPP

#include <cstdint>
#include <vector>

namespace dnnl_dequant {

/// A size, a stride or an offset, counted in elements unless said otherwise.
using dim_t = int64_t;
using dims_t = std::vector<dim_t>;

} // namespace dnnl_dequant

#endif
