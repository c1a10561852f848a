// oneDNN's Dequantize, whose scales and zero points are attributes:
//
//   [layout ops ->] src -> Dequantize -> dst
//
// By itself it stays oneDNN's; it is here for the ops around it.

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

template <typename T>
constant_t bytes_of_values(const std::vector<T> &values) {
    constant_t bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

// One value, or one a channel.
result_t apply_constant(step_kind_t kind, data_type_t type, size_t count,
        constant_t bytes, const op_record_t &op, composition_t &composition) {
    chain_t &chain = composition.chain;
    chain_t::view_t view {type, {}};
    if (chain.has_shape()) {
        view.along.assign(chain.shape().size(), {});
        const auto *axis = find_attribute<dims_t>(op, dnnl_graph_op_attr_axis);
        const auto rank = static_cast<dim_t>(chain.shape().size());
        dim_t at = axis ? axis->front() : 1;
        if (at < 0) at += rank;
        if (count > 1) {
            if (at < 0 || at >= rank
                    || chain.shape()[static_cast<size_t>(at)]
                               != static_cast<dim_t>(count))
                return refuse(op,
                        text("has ", count, " scales or zps along axis ", at,
                                "; expected one a channel"),
                        status_t::invalid_shape);
            view.along[static_cast<size_t>(at)] = {1, 1};
        }
    }
    result_t result = chain.apply(kind, view);
    if (!result.ok()) return refuse(op, result.reason, result.status);
    composition.sources.push_back(
            {0, static_cast<int>(composition.constants.size())});
    composition.constants.push_back(std::move(bytes));
    return {};
}

} // namespace

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
        result = apply_constant(step_kind_t::subtract, data_type_t::s64,
                zps->size(), bytes_of_values(*zps), op, composition);
    }
    if (result.ok())
        result = apply_constant(step_kind_t::multiply, data_type_t::f32,
                scales->size(), bytes_of_values(*scales), op, composition);
    if (!result.ok()) return result;
    composition.dequantizes = true;
    composition.chain.set_type(type_of(op.outputs[0]));
    return finish_op(scope, op, composition);
}

} // namespace dnnl_dequant
