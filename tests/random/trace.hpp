#ifndef RANDOM_TRACE_HPP
#define RANDOM_TRACE_HPP

#include <cstdint>
#include <iosfwd>
#include <map>
#include <vector>

#include "random/graph.hpp"

namespace dnnl_dequant {
namespace random_graphs {

/// A status, or `crashed` where the call ended the process, or `not_reached`.
constexpr int crashed = -1, not_reached = -2;

struct traced_port_t {
    uint64_t id;
    int32_t type, layout, property;
    std::vector<int64_t> dims, strides;

    bool operator==(const traced_port_t &other) const;
};

/// A user is told this about a partition, with what it gave.
struct traced_partition_t {
    uint64_t id = 0;
    int32_t is_supported = 0, engine = 0;
    std::vector<uint64_t> ops;
    std::vector<traced_port_t> inputs, outputs;

    int32_t compiled = not_reached, executed = not_reached;
    // The answers of query_logical_tensor; only sizes where it is opaque.
    std::vector<traced_port_t> compiled_outputs;
    std::vector<uint64_t> sizes;
    std::vector<uint64_t> inplace; // input and output in turns
    // Each output port has one.
    std::vector<std::vector<uint8_t>> results;
};

/// All that a user sees of a graph.
struct trace_t {
    uint64_t seed = 0;
    std::vector<int32_t> added; // one an op
    int32_t finalized = not_reached, partitioned = not_reached;
    std::vector<traced_partition_t> partitions;
};

void write(std::ostream &out, const trace_t &trace);
/// False at the end of the file.
bool read(std::istream &in, trace_t &trace);

traced_port_t traced(const logical_tensor &tensor);
std::string to_string(const traced_port_t &port);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
