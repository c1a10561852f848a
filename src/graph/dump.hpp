#ifndef GRAPH_DUMP_HPP
#define GRAPH_DUMP_HPP

#include <string>

#include "graph/graph_record.hpp"

namespace dnnl_dequant {

/// Whether ONEDNN_GRAPH_DUMP asks for whole graphs.
bool dump_wanted();

/// Returns the graph as JSON, in the format of oneDNN's own dumps. It also
/// holds what oneDNN's dumps cannot say: op kinds and types of ours, and ops
/// that stand as Wildcards in oneDNN's graph.
std::string graph_json(const graph_record_t &graph);

/// Writes graph_json() to "graph-dnnl_dequant-<process>-<number>.json" in the
/// current folder, a number a dump; never over a file or through a link that
/// is there. A file that cannot be written is none.
void dump(const graph_record_t &graph);

} // namespace dnnl_dequant

#endif
