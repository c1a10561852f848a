// A further scale, or a value by its own sigmoid (SiLU, Swish):
//
//   value, tensor -> Multiply -> dst        the tensor broadcasts to the value
//   value -> Sigmoid -> s; value, s -> Multiply -> dst

#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

// The Sigmoid that gives one input of the op from the other one, both of which
// have no other use; null where there is none.
const op_record_t *own_sigmoid(
        const scope_t &scope, const op_record_t &op, size_t value) {
    const op_record_t *sigmoid = scope.producer(op.inputs[1 - value].id);
    const bool is_own = sigmoid != nullptr
                        && sigmoid->kind == dnnl_graph_op_sigmoid
                        && sigmoid->inputs[0].id == op.inputs[value].id;
    return is_own ? sigmoid : nullptr;
}

result_t compose_swish(const scope_t &scope, const op_record_t &op,
        const op_record_t &sigmoid, composition_t &composition) {
    chain_t &chain = composition.chain;
    if (chain.has_pushed()) return refuse(op, "its value is a sum of two");
    chain.dup();
    chain.apply(function_t::sigmoid);
    const result_t result = finish_computed_op(scope, sigmoid, composition);
    if (!result.ok()) return result;
    chain.pop_multiply();
    return finish_computed_op(scope, op, composition);
}

} // namespace

result_t compose_multiply(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    for (const size_t value : {size_t(0), size_t(1)}) {
        const op_record_t *sigmoid = own_sigmoid(scope, op, value);
        composition_t kept;
        kept.depth = composition.depth;
        if (sigmoid == nullptr) continue;
        compose_input(scope, op, value, kept, 2);
        if (!kept.dequantizes) break;
        composition = std::move(kept);
        return compose_swish(scope, op, *sigmoid, composition);
    }
    // Both orders mean the same; the value is the side that is dequantized.
    const size_t value = compose_dequantized(scope, op, 0, composition) ? 0 : 1;
    if (value == 1 && !compose_dequantized(scope, op, 1, composition))
        return refuse(op, "neither of its inputs is dequantized");
    return apply_tensor(
            step_kind_t::multiply, scope, op, 1 - value, composition);
}

} // namespace dnnl_dequant
