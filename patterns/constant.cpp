// Scales and zero points that attributes spell out.

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

// One value, or one a channel along the op's axis.
result_t place(size_t count, const op_record_t &op, const chain_t &chain,
        chain_t::view_t &view) {
    if (!chain.has_shape()) return {};
    view.along.assign(chain.shape().size(), {});
    if (count == 1) return {};
    const auto *axis = find_attribute<dims_t>(op, dnnl_graph_op_attr_axis);
    const auto rank = static_cast<dim_t>(chain.shape().size());
    dim_t at = axis ? axis->front() : 1;
    if (at < 0) at += rank;
    if (at < 0 || at >= rank
            || chain.shape()[static_cast<size_t>(at)]
                       != static_cast<dim_t>(count))
        return refuse(op,
                text("has ", count, " scales or zps along axis ", at,
                        "; expected one, or one a channel"),
                status_t::invalid_shape);
    view.along[static_cast<size_t>(at)] = {1, 1};
    return {};
}

template <typename T>
result_t apply(step_kind_t kind, data_type_t type, const op_record_t &op,
        const std::vector<T> &values, composition_t &composition) {
    chain_t::view_t view {type, {}};
    result_t result = place(values.size(), op, composition.chain, view);
    if (!result.ok()) return result;
    result = composition.chain.apply(kind, view);
    if (!result.ok()) return refuse(op, result.reason, result.status);
    composition.sources.push_back(
            {0, static_cast<int>(composition.constants.size())});
    constant_t bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    composition.constants.push_back(std::move(bytes));
    return {};
}

} // namespace

result_t apply_constant(step_kind_t kind, const op_record_t &op,
        const std::vector<float> &values, composition_t &composition) {
    return apply(kind, data_type_t::f32, op, values, composition);
}

result_t apply_constant(step_kind_t kind, const op_record_t &op,
        const std::vector<int64_t> &values, composition_t &composition) {
    const std::vector<int32_t> narrow(values.begin(), values.end());
    // More kernels take 32 bits, so values that fit become s32.
    if (std::equal(values.begin(), values.end(), narrow.begin()))
        return apply(kind, data_type_t::s32, op, narrow, composition);
    return apply(kind, data_type_t::s64, op, values, composition);
}

} // namespace dnnl_dequant
