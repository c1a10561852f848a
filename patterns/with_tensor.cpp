// Rules that Multiply and Add share.

#include "base/text.hpp"
#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t apply_tensor(step_kind_t kind, const scope_t &scope,
        const op_record_t &op, size_t other, composition_t &composition) {
    const logical_tensor_t tensor = scope.known(op.inputs[other]);
    const auto *broadcast = find_attribute<std::string>(
            op, dnnl_graph_op_attr_auto_broadcast);
    if (broadcast && *broadcast == "none" && has_shape(tensor)
            && dims_of(tensor) != composition.chain.shape())
        return refuse(op, "its inputs differ in shape and do not broadcast",
                status_t::invalid_shape);
    chain_t::view_t view;
    result_t result
            = broadcast_view(op, other, tensor, composition.chain, view);
    if (result.ok()) result = apply_input(kind, op, other, view, composition);
    if (!result.ok()) return result;
    return finish_computed_op(scope, op, composition);
}

} // namespace dnnl_dequant
