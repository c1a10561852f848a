#ifndef SUPPORT_PAIRS_HPP
#define SUPPORT_PAIRS_HPP

#include "support/random.hpp"

namespace dnnl_dequant {
namespace support {

/// One value of each choice, as indices.
using choices_t = std::vector<size_t>;

/// Returns rows in which every value of every choice meets every value of every
/// other one. All combinations would be too many. `sizes` says how many values
/// each choice has. The same seed gives the same rows.
std::vector<choices_t> pairs_of(
        const std::vector<size_t> &sizes, uint64_t seed);

} // namespace support
} // namespace dnnl_dequant

#endif
