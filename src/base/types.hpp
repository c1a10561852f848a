#ifndef BASE_TYPES_HPP
#define BASE_TYPES_HPP

#include <cstdint>
#include <vector>

namespace dnnl_dequant {

/// A size, a stride or an offset, counted in elements unless said otherwise.
using dim_t = int64_t;
using dims_t = std::vector<dim_t>;

/// How many units hold the value; value >= 0, unit > 0. None overflows.
template <typename value_t, typename unit_t>
constexpr auto div_up(value_t value, unit_t unit) {
    const auto whole = value / unit;
    return whole + (value % unit > 0 ? 1 : 0);
}

/// The least multiple of the unit that is no less than the value >= 0.
template <typename value_t, typename unit_t>
constexpr auto round_up(value_t value, unit_t unit) {
    return div_up(value, unit) * unit;
}

} // namespace dnnl_dequant

#endif
