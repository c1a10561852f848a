#include "partition/assumed_scope.hpp"

#include <algorithm>

#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

std::vector<op_record_t> with_extents(const scope_t &scope,
        std::vector<op_record_t> ops, dim_t extent, bool &assumes) {
    for (op_record_t &op : ops)
        for (logical_tensor_t &tensor : op.inputs) {
            if (!has_rank(tensor) || has_shape(tensor)
                    || !scope.is_given_from_outside(tensor.id))
                continue;
            dims_t dims = dims_of(tensor);
            std::replace(dims.begin(), dims.end(),
                    dim_t(DNNL_GRAPH_UNKNOWN_DIM), extent);
            set_layout(tensor, dims, dense_strides(dims));
            assumes = true;
        }
    return ops;
}

} // namespace

assumed_scope_t::assumed_scope_t(
        const scope_t &scope, const std::vector<op_record_t> &ops, dim_t extent)
    : scope_(scope)
    , shapes_(with_extents(scope, ops, extent, assumes_)) {}

} // namespace dnnl_dequant
