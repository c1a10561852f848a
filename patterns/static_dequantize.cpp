// oneDNN's Dequantize, whose scales and zero points are attributes:
//
//   [layout ops ->] src -> Dequantize -> dst

#include <algorithm>

#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t compose_static_dequantize(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    const auto *scales
            = find_attribute<std::vector<float>>(op, dnnl_graph_op_attr_scales);
    if (scales == nullptr || scales->empty())
        return refuse(op, "has no scales");
    const auto *zps = find_attribute<dims_t>(op, dnnl_graph_op_attr_zps);
    result_t result;
    if (zps != nullptr && std::any_of(zps->begin(), zps->end(), [](dim_t zp) {
        return zp != 0;
    })) {
        if (!is_integer(composition.chain.type()))
            return refuse(op, "has zps for a floating src");
        result = apply_constant(step_kind_t::subtract, op, *zps, composition);
    }
    if (result.ok())
        result = apply_constant(
                step_kind_t::multiply, op, *scales, composition);
    if (!result.ok()) return result;
    composition.dequantizes = true;
    return finish_computed_op(scope, op, composition);
}

} // namespace dnnl_dequant
