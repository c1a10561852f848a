#include "partition/assumed_scope.hpp"

#include <algorithm>

#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

bool lacks_extents(const scope_t &scope, const logical_tensor_t &tensor) {
    return has_rank(tensor) && !has_shape(tensor)
           && scope.is_given_from_outside(tensor.id);
}

bool lack_extents(const scope_t &scope, const std::vector<op_record_t> &ops) {
    return std::any_of(ops.begin(), ops.end(), [&](const op_record_t &op) {
        return std::any_of(op.inputs.begin(), op.inputs.end(),
                [&](const logical_tensor_t &input) {
            return lacks_extents(scope, input);
        });
    });
}

std::vector<op_record_t> with_extents(
        const scope_t &scope, std::vector<op_record_t> ops, dim_t extent) {
    for (op_record_t &op : ops)
        for (logical_tensor_t &tensor : op.inputs) {
            if (!lacks_extents(scope, tensor)) continue;
            dims_t dims = dims_of(tensor);
            std::replace(dims.begin(), dims.end(),
                    dim_t(DNNL_GRAPH_UNKNOWN_DIM), extent);
            set_layout(tensor, dims, dense_strides(dims));
        }
    return ops;
}

} // namespace

assumed_scope_t::assumed_scope_t(
        const scope_t &scope, const std::vector<op_record_t> &ops, dim_t extent)
    : scope_(scope)
    , assumes_(lack_extents(scope, ops))
    // Nothing is inferred twice where nothing is assumed.
    , shapes_(assumes_ ? with_extents(scope, ops, extent)
                       : std::vector<op_record_t>()) {}

} // namespace dnnl_dequant
