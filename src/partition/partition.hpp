#ifndef PARTITION_PARTITION_HPP
#define PARTITION_PARTITION_HPP

#include <memory>
#include <string>
#include <vector>

#include "match/match.hpp"

namespace dnnl_dequant {

struct upstream_destroyer_t {
    void operator()(dnnl_graph_partition_t partition) const;
};
/// A partition of oneDNN's, destroyed with its owner.
using upstream_partition_t
        = std::unique_ptr<dnnl_graph_partition, upstream_destroyer_t>;

/// A partition of ours. Immutable once made.
struct partition_t {
    partition_kind_t kind = partition_kind_t::dequantize;
    size_t id = 0; // oneDNN's: that of the partition it replaces
    dnnl_engine_kind_t engine_kind = dnnl_cpu;
    dnnl_fpmath_mode_t fpmath_mode = dnnl_fpmath_mode_strict;
    bool fpmath_apply_to_int = false;
    std::vector<op_record_t> ops;         // in topological order
    std::vector<logical_tensor_t> inputs; // ports, in the ops' order
    std::vector<logical_tensor_t> outputs;
    std::string identity; // all of the above but `id`, graph/identity.hpp
    /// oneDNN's partitions of the same ops. If there is only one, it serves the
    /// calls that we refuse.
    std::vector<upstream_partition_t> upstream;
    /// The parts of a compound, producers before consumers. Each has the
    /// compound's id.
    std::vector<std::shared_ptr<const partition_t>> parts;
};

/// Makes the partition of a match, but for `id` and `upstream`. Ports are the
/// tensors that cross the partition's border, each once.
partition_t make_partition(const graph_record_t &graph, const match_t &match);

/// Makes one partition of several, which it runs one after the other.
/// @param parts Producers before consumers.
/// @param whole oneDNN's partition in whose place the compound stands. It is
///     kept to serve what a part refuses, if it has the same ops.
std::shared_ptr<const partition_t> make_compound(const graph_record_t &graph,
        std::vector<std::shared_ptr<const partition_t>> parts,
        upstream_partition_t whole, size_t ops_of_whole);

} // namespace dnnl_dequant

#endif
