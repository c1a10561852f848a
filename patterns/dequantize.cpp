// A dequantize of a tensor, or of one that layout ops bring into shape:
//
//   [layout ops ->] src, scales[, zps] -> DynamicDequantize        -> dst
//                                       | DequantizeLinear
//                                       | ExtendedDequantizeLinear

#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t compose_dequantize(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    const op_record_t known = with_known(scope, op, composition.chain);
    if (result_t result = verify(known); !result.ok()) return result;

    const bool has_zps = op.inputs.size() > 2;
    result_t result;
    if (has_zps)
        result = apply_parameter(step_kind_t::subtract, known, 2, composition);
    if (result.ok())
        result = apply_parameter(step_kind_t::multiply, known, 1, composition);
    if (!result.ok()) return result;
    if (has_zps && demands_zero(op))
        composition.must_be_zero.push_back(op.inputs[2].id);
    composition.dequantizes = true;
    return finish_computed_op(scope, op, composition);
}

} // namespace dnnl_dequant
