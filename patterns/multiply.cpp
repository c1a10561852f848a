// A further scale:
//
//   value, tensor -> Multiply -> dst        the tensor broadcasts to the value

#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t compose_multiply(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    return compose_with_tensor(step_kind_t::multiply, scope, op, composition);
}

} // namespace dnnl_dequant
