// A cast between floating types:
//
//   value -> TypeCast -> dst

#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t compose_type_cast(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    return finish_op(scope, op, composition);
}

} // namespace dnnl_dequant
