// oneDNN's Quantize, whose scales and zero points are attributes:
//
//   value -> Quantize -> dst
//
// It computes as oneDNN does: value * (1 / scale) + zero point in f32, bounded
// to dst's range (NaN becomes the least of it) and only then rounded.

#include <algorithm>

#include "base/convert.hpp"
#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t compose_static_quantize(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    const data_type_t dst = type_of(op.outputs[0]);
    if (dst != data_type_t::u8 && dst != data_type_t::s8)
        return refuse(op, "its output is neither u8 nor s8");
    const auto *scales
            = find_attribute<std::vector<float>>(op, dnnl_graph_op_attr_scales);
    if (scales == nullptr || scales->empty())
        return refuse(op, "has no scales");
    std::vector<float> factors;
    for (const float scale : *scales)
        factors.push_back(1.f / scale);
    result_t result
            = apply_constant(step_kind_t::multiply, op, factors, composition);
    const auto *zps = find_attribute<dims_t>(op, dnnl_graph_op_attr_zps);
    if (result.ok() && zps != nullptr && !zps->empty())
        result = apply_constant(step_kind_t::add, op, *zps, composition);
    if (!result.ok()) return result;
    bound_and_quantize(dst, composition.chain);
    return finish_op(scope, op, composition);
}

} // namespace dnnl_dequant
