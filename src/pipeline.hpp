#ifndef PIPELINE_HPP
#define PIPELINE_HPP

#include <memory>
#include <vector>

#include "exec/compiled_partition.hpp"
#include "graph/graph_record.hpp"
#include "partition/select.hpp"

namespace dnnl_dequant {

// The stages of a graph's life, in their order. The boundary (src/abi) calls
// them and nothing else; each calls the rooms below. Nothing flows back.
//
//   add_op         an op becomes a record
//   list_partitions patterns select recorded ops
//   compile        lowering makes the problem, the best kernel takes it
//   execute        the kernel runs over the user's buffers

/// True if partitions are selected: the last set_enabled(), else
/// DNNL_DEQUANT_DISABLE.
bool plugin_enabled();
void enable_plugin(bool enabled);

/// Adds `op` to the graph that oneDNN holds and to its record. An op that only
/// our schema accepts enters oneDNN's graph as a Wildcard of the same id.
dnnl_status_t add_op(dnnl_graph_graph_t graph, graph_record_t &graph_record,
        dnnl_graph_op_t op, const op_record_t &op_record);

/// Lists the partitions of a filtered graph: oneDNN's, and ours in the place of
/// some of these.
dnnl_status_t list_partitions(dnnl_graph_graph_t graph,
        graph_record_t &graph_record, std::vector<listed_t> &list);

/// Returns a partition of ours for an op outside any graph, or null.
std::shared_ptr<const partition_t> select_op(
        const op_record_t &op, dnnl_engine_kind_t engine_kind);

/// Fills `compiled` for the given shapes, from the cache where it can.
dnnl_status_t compile(compiled_partition_t &compiled,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, dnnl_engine_t engine);

/// Runs a filled compiled partition that is not oneDNN's as a whole. It is done
/// when the call returns.
/// @param stream The call waits for it first. oneDNN's parts of a compound run
///     on it. Null if nothing has to be waited for, and no part is oneDNN's.
dnnl_status_t execute(const compiled_partition_t &compiled,
        dnnl_stream_t stream, const buffer_list_t &buffers);

/// Waits for SYCL's events before an execution (primitives/sycl_events.hpp).
dnnl_status_t wait_for_sycl(const compiled_partition_t &compiled,
        dnnl_stream_t stream, const void *deps, void *event);

/// Refuses an execution with OpenCL's events, which nothing here waits for.
dnnl_status_t refuse_opencl(const compiled_partition_t &compiled);

} // namespace dnnl_dequant

#endif
