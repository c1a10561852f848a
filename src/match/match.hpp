#ifndef MATCH_MATCH_HPP
#define MATCH_MATCH_HPP

#include <vector>

#include "base/status.hpp"
#include "graph/graph_record.hpp"

namespace dnnl_dequant {

/// What a partition of ours computes; decides how it is lowered.
enum class partition_kind_t {
    dequantize, // dst = (src - zps) * scales
};

const char *to_string(partition_kind_t kind);

/// What a logical tensor is to the partition, whatever op it came from.
enum class role_t { src, scales, zps, dst };

const char *to_string(role_t role);

struct binding_t {
    role_t role;
    size_t tensor; // logical tensor id
};

/// Ops that become one partition. Matching mutates nothing: a match that
/// fails leaves no trace but its reason.
struct match_t {
    partition_kind_t kind = partition_kind_t::dequantize;
    std::vector<const op_record_t *> ops; // in topological order
    std::vector<binding_t> bindings;
};

/// Tries to match at `root`, the last op of the would-be partition. Answers
/// success and fills `match`, or says why not.
using pattern_t = result_t (*)(
        const graph_record_t &graph, const op_record_t &root, match_t &match);

} // namespace dnnl_dequant

#endif
