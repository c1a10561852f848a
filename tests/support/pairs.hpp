#ifndef SUPPORT_PAIRS_HPP
#define SUPPORT_PAIRS_HPP

#include "support/random.hpp"

namespace dnnl_dequant {
namespace support {

/// One value of each choice, as indices.
using choices_t = std::vector<size_t>;

/// Rows in which every value of every choice meets every value of every other
/// one, where all their combinations would be too many. `sizes` says how many
/// values each choice has. The same rows for the same seed.
std::vector<choices_t> pairs_of(
        const std::vector<size_t> &sizes, uint64_t seed);

} // namespace support
} // namespace dnnl_dequant

#endif
