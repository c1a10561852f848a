// A further scale:
//
//   value, tensor -> Multiply -> dst        the tensor broadcasts to the value

#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t compose_multiply(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    // Both orders mean the same; the value is the side that is dequantized.
    const size_t value = compose_dequantized(scope, op, 0, composition) ? 0 : 1;
    if (value == 1 && !compose_dequantized(scope, op, 1, composition))
        return refuse(op, "neither of its inputs is dequantized");
    return apply_tensor(
            step_kind_t::multiply, scope, op, 1 - value, composition);
}

} // namespace dnnl_dequant
