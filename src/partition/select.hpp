#ifndef PARTITION_SELECT_HPP
#define PARTITION_SELECT_HPP

#include <memory>
#include <vector>

#include "partition/partition.hpp"

namespace dnnl_dequant {

/// A partition in the list that the user gets: exactly one of the two is set.
struct listed_t {
    upstream_partition_t upstream;
    std::shared_ptr<const partition_t> ours;
};

/// Decides which of the partitions that oneDNN made become ours.
///
/// The search goes from the graph's end backwards. It selects single ops, and
/// the longest chains of ops that a pattern matches and that are whole
/// partitions of oneDNN's, so that no other partition changes. A partition of
/// several ops that is a chain by itself stays oneDNN's. So does, without AVX2,
/// a single quantize or static dequantize that oneDNN has. A partition that
/// split_partition() splits counts as its parts, and becomes one partition
/// again, a compound.
/// @param graph The record of the graph; its lock is held by the caller.
/// @param upstream oneDNN's partitions in topological order.
/// @returns The list in topological order. A partition of ours has the place
/// and the id of
///     the last partition that it covers. One with outputs from other ops
///     than its last has the place of the first, since all of its ops come
///     after what it reads.
std::vector<listed_t> select_partitions(const graph_record_t &graph,
        std::vector<upstream_partition_t> upstream);

} // namespace dnnl_dequant

#endif
