#ifndef PARTITION_BREAK_UP_HPP
#define PARTITION_BREAK_UP_HPP

#include "partition/claim.hpp"

namespace dnnl_dequant {

/// Takes a partition of several ops that oneDNN made apart, if products with
/// dequantized weights are in it: those become ours, each with what its
/// patterns take, and every other op a partition of oneDNN's own. oneDNN
/// multiplies there by weights that its reference code dequantizes.
/// @param ops Those of the partition, none of them claimed.
/// @returns The parts in topological order; none where it is to stay whole:
///     attention, whose scores are better left where they are, and where
///     oneDNN does not take one of the other ops by itself.
std::vector<listed_t> break_up(
        const graph_record_t &graph, const std::vector<size_t> &ops);

} // namespace dnnl_dequant

#endif
