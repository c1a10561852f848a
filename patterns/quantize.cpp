// A quantize of a tensor, or of a value:
//
//   [... ->] src, scales[, zps] -> QuantizeLinear         -> dst
//                                | ExtendedQuantizeLinear
//                                | DynamicQuantize

#include <algorithm>

#include "base/convert.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

bool is_of(const logical_tensor_t &tensor,
        std::initializer_list<data_type_t> types) {
    return std::find(types.begin(), types.end(), type_of(tensor))
           != types.end();
}

// oneDNN 3.7 to 3.13 quantizes on CPU f32 to 8 bits, per tensor or, without
// zero points, per channel.
bool is_onednns(const op_record_t &op) {
    using t = data_type_t;
    if (op.kind != dnnl_graph_op_dynamic_quantize) return false;
    const bool has_zps = op.inputs.size() > 2;
    const qtype_t most = has_zps ? qtype_t::per_tensor : qtype_t::per_channel;
    return is_of(op.inputs[0], {t::f32}) && is_of(op.inputs[1], {t::f32})
           && is_of(op.outputs[0], {t::u8, t::s8})
           && (!has_zps || is_of(op.inputs[2], {t::u8, t::s8, t::s32}))
           && granularity_of(op).qtype <= most;
}

// Integers and f4 saturate where they are stored; f32 has room for all.
bool saturates(const op_record_t &op) {
    const data_type_t dst = quantized_type(op);
    if (!is_floating(dst) || dst == data_type_t::f32) return false;
    const auto *saturate = find_attribute<std::vector<uint8_t>>(
            op, dnnl_dequant_attr_saturate);
    return saturate == nullptr || saturate->front() != 0;
}

// Computes as oneDNN does, if oneDNN has the op: who serves it may take less
// time, but gives the same bits.
result_t compose_as_onednn(
        const op_record_t &known, composition_t &composition) {
    result_t result = apply_parameter(
            step_kind_t::multiply_reciprocal, known, 1, composition);
    if (result.ok() && known.inputs.size() > 2)
        result = apply_parameter(step_kind_t::add, known, 2, composition);
    if (result.ok())
        bound_and_quantize(quantized_type(known), composition.chain);
    return result;
}

} // namespace

void bound_and_quantize(data_type_t type, chain_t &chain) {
    const int_range_t range = range_of(type);
    chain.clamp(static_cast<float>(range.lowest),
            static_cast<float>(range.highest));
    chain.quantize(type);
}

result_t compose_quantize(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    compose_input(scope, op, 0, composition);
    const op_record_t known = with_known(scope, op, composition.chain);
    if (result_t result = verify(known); !result.ok()) return result;

    if (is_onednns(op)) {
        const result_t result = compose_as_onednn(known, composition);
        return result.ok() ? finish_op(scope, op, composition) : result;
    }
    const data_type_t dst = quantized_type(op);
    const bool has_zps = op.inputs.size() > 2;
    result_t result
            = apply_parameter(step_kind_t::divide, known, 1, composition);
    if (result.ok() && has_zps)
        result = apply_parameter(
                is_floating(dst) ? step_kind_t::add : step_kind_t::offset,
                known, 2, composition);
    if (!result.ok()) return result;
    if (has_zps && demands_zero(op))
        composition.must_be_zero.push_back(op.inputs[2].id);
    if (saturates(op))
        composition.chain.saturate(-largest_of(dst), largest_of(dst));
    composition.chain.quantize(dst);
    composition.dequantizes = true;
    return finish_op(scope, op, composition);
}

} // namespace dnnl_dequant
