#ifndef PARTITION_CLAIM_HPP
#define PARTITION_CLAIM_HPP

#include <memory>

#include "partition/partition.hpp"

namespace dnnl_dequant {

/// Decides whether a partition that oneDNN made becomes one of ours.
///
/// Claimed are single-op partitions, supported by oneDNN or not, that a
/// pattern of ours matches; partitions of several ops stay oneDNN's.
/// @param graph The record of the graph the partition came from; its lock is
///     held by the caller.
/// @param upstream oneDNN's partition. A claim takes ownership of it.
/// @returns the partition of ours, or null; then the reason is logged.
std::shared_ptr<const partition_t> claim(
        const graph_record_t &graph, dnnl_graph_partition_t upstream);

} // namespace dnnl_dequant

#endif
