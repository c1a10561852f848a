#ifndef BENCHMARKS_REPLAY_PARTS_HPP
#define BENCHMARKS_REPLAY_PARTS_HPP

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dequantize_run.hpp"
#include "graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// One partition of a graph, on its way from get_partitions to execute.
struct part_t {
    dnnl::graph::partition partition;
    dnnl::graph::compiled_partition compiled;
    std::vector<size_t> ops;
    std::vector<size_t> inputs, outputs; // ids of values, by port
    std::string refusal; // why it cannot run; empty where it can
    std::string kernel;  // impl_info; empty for oneDNN's own

    bool ours() const { return !kernel.empty(); }
};

/// The graph built through the standard API and partitioned, in topological
/// order, by whoever is enabled. An op that is not taken stands there as a
/// Wildcard, its partition refused. Throws file_error_t where the graph cannot
/// be built.
std::vector<part_t> partition_graph(
        const graph_file_t &file, dnnl::graph::partition::policy policy
                                  = dnnl::graph::partition::policy::fusion);

/// Returns the partitions that this owner makes. It switches the plugin for the
/// whole process, and on again.
std::vector<part_t> partitions_of(const graph_file_t &file, owner_t owner);

/// With the plugin, each op a partition of its own (policy debug): what
/// fusing is held against.
std::vector<part_t> single_ops_of(const graph_file_t &file);

/// Compiles for these shapes and adds the shapes that oneDNN infers for the
/// outputs. A part that cannot be compiled has a refusal.
void compile(part_t &part, std::map<size_t, graph_value_t> &values);

/// Parts of both owners that together cover the same ops, as few as can be
/// compared: mostly one of each.
struct part_group_t {
    std::set<size_t> ops;
    std::vector<part_t *> stock, plugin; // in topological order
};

std::vector<part_group_t> group_parts(
        std::vector<part_t> &stock, std::vector<part_t> &plugin);

} // namespace bench
} // namespace dnnl_dequant

#endif
