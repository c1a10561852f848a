#ifndef PARTITION_SPLIT_HPP
#define PARTITION_SPLIT_HPP

#include "partition/graph_scope.hpp"
#include "partition/partition.hpp"

namespace dnnl_dequant {

/// Splits a partition of several ops that oneDNN made, if it holds products
/// with dequantized weights that are not selected together with all other ops.
/// These products may become ours then. Inside oneDNN's partition its reference
/// code would dequantize the weights, or they would be whole in memory as
/// floats.
/// @param scope The graph less what is selected.
/// @param ops The ops of the partition, none of them selected.
/// @returns A partition of oneDNN's for each op, in topological order; or none
///     if the partition stays whole.
///
/// A partition stays whole
/// - for attention, whose scores are better left in their place;
/// - for integers, which oneDNN multiplies as such;
/// - if oneDNN does not take one of the ops by itself;
/// - if a product that would not be ours would lose the graph's fpmath mode.
std::vector<upstream_partition_t> split_partition(const graph_record_t &graph,
        const scope_t &scope, const std::vector<size_t> &ops);

} // namespace dnnl_dequant

#endif
