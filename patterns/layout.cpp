// Ops that move elements and change none:
//
//   value -> Reorder | StaticTranspose | StaticReshape -> dst

#include "base/text.hpp"
#include "graph/layout_op.hpp"
#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

result_t transpose(const op_record_t &op, chain_t &chain) {
    // Without a shape, the order of dimensions changes nothing that is known.
    if (!chain.has_shape()) return {};
    std::vector<size_t> order;
    const result_t result = transpose_order(op, chain.shape().size(), order);
    if (result.ok()) chain.transpose(order);
    return result;
}

result_t reshape(const op_record_t &op, chain_t &chain) {
    if (!chain.has_shape()) return refuse(op, "shapes are not known yet");
    dims_t dims;
    result_t result = reshaped_dims(op, chain.shape(), dims);
    if (!result.ok()) return result;
    result = chain.reshape(dims);
    return result.ok() ? result : refuse(op, result.reason, result.status);
}

result_t apply(const op_record_t &op, chain_t &chain) {
    switch (op.kind) {
    case dnnl_graph_op_static_transpose: return transpose(op, chain);
    case dnnl_graph_op_static_reshape: return reshape(op, chain);
    default: return {}; // Reorder
    }
}

} // namespace

result_t compose_layout(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    chain_t &chain = composition.chain;
    if (type_of(op.outputs[0]) != chain.type())
        return refuse(op, text("its output is of type ",
                                  to_string(type_of(op.outputs[0])),
                                  "; expected ", to_string(chain.type())));
    result_t result = apply(op, chain);
    // A partition of its own may move the elements before.
    if (result.status == status_t::unimplemented && !composition.ops.empty()
            && !composition.dequantizes) {
        scope.log_not_fused(result.reason);
        composition_t outside;
        outside.depth = composition.depth;
        compose_outside(scope, op, 0, outside);
        composition = std::move(outside);
        result = apply(op, chain);
    }
    if (!result.ok()) return result;
    return finish_op(scope, op, composition);
}

} // namespace dnnl_dequant
