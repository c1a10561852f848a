#ifndef PARTITION_BREAK_UP_HPP
#define PARTITION_BREAK_UP_HPP

#include "partition/graph_scope.hpp"
#include "partition/partition.hpp"

namespace dnnl_dequant {

/// Takes a partition of several ops that oneDNN made apart, if products with
/// dequantized weights are in it that are not claimed with all of the others:
/// those may become ours then. oneDNN multiplies there by weights that its
/// reference code dequantizes, or that are whole in memory as floats.
/// @param scope The graph less what is claimed.
/// @param ops Those of the partition, none of them claimed.
/// @returns A partition of oneDNN's for each op, in topological order; none
///     where it is to stay whole: attention, whose scores are better left where
///     they are; integers, which oneDNN multiplies as such; and where it does
///     not take one of the ops by itself, or a product that would not be ours
///     would lose the graph's fpmath mode.
std::vector<upstream_partition_t> break_up(const graph_record_t &graph,
        const graph_scope_t &scope, const std::vector<size_t> &ops);

} // namespace dnnl_dequant

#endif
