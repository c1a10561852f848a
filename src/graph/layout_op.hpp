#ifndef GRAPH_LAYOUT_OP_HPP
#define GRAPH_LAYOUT_OP_HPP

#include "base/status.hpp"
#include "base/types.hpp"
#include "graph/op_record.hpp"

namespace dnnl_dequant {

/// Dimension d of StaticTranspose's dst is dimension order[d] of its src.
/// @param order Output: the attribute, negative entries counted from the end.
/// @returns invalid_graph_op where it is absent or no permutation,
///     invalid_shape where it has not `rank` entries.
result_t transpose_order(
        const op_record_t &op, size_t rank, std::vector<size_t> &order);

/// The shape that StaticReshape gives to a src of shape `src_dims`: -1 stands
/// for what is left and, with special_zero, 0 for src's own dimension.
/// @returns invalid_graph_op where the attribute is absent, invalid_shape
///     where it does not hold as many elements.
result_t reshaped_dims(
        const op_record_t &op, const dims_t &src_dims, dims_t &dims);

/// Schema check of StaticTranspose, StaticReshape and Reorder, as far as
/// shapes are known.
result_t check_layout_op(const op_record_t &op);

} // namespace dnnl_dequant

#endif
