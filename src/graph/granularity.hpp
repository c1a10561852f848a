#ifndef GRAPH_GRANULARITY_HPP
#define GRAPH_GRANULARITY_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "graph/op_record.hpp"

namespace dnnl_dequant {

enum class qtype_t { per_tensor, per_channel, per_group };

/// Which elements of src share a scale, as the op's attributes say it.
struct granularity_t {
    qtype_t qtype = qtype_t::per_tensor;
    dim_t axis = 1;     // per_channel; as given, so possibly negative
    dims_t group_shape; // per_group; one a dimension of src
};

/// Reads the attributes of an op that has passed its schema.
granularity_t granularity_of(const op_record_t &op);

/// Schema check of ops with qtype, axis and group_shape: the axis lies in
/// [-rank, rank - 1], group_shape is there, positive and of src's rank, as far
/// as src's rank is known.
result_t check_granularity(const op_record_t &op);

/// The group size along each dimension of src (problem/make_problem.hpp).
dims_t group_sizes(const granularity_t &granularity, const dims_t &src_dims);

} // namespace dnnl_dequant

#endif
