#ifndef GRAPH_GRANULARITY_RULES_HPP
#define GRAPH_GRANULARITY_RULES_HPP

#include "graph/granularity.hpp"

namespace dnnl_dequant {

// Rules that both files that read granularity share.

/// The attribute `axis`, 1 where it is not set.
dim_t axis_of(const op_record_t &op);

/// Holds an axis against the rank of the op's first input, if that is known.
result_t check_axis(const op_record_t &op, dim_t axis);

/// A refusal with status_t::invalid_graph_op.
result_t invalid(const op_record_t &op, const std::string &what);

/// The granularity of an op that is_linear().
granularity_t linear_granularity(const op_record_t &op);

} // namespace dnnl_dequant

#endif
