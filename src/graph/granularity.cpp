#include "graph/granularity.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity_rules.hpp"
#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

result_t check_groups(const op_record_t &op, const granularity_t &granularity) {
    const dims_t &groups = granularity.group_shape;
    if (groups.empty())
        return invalid(op, "qtype is per_group but group_shape is missing");
    for (const dim_t group : groups)
        if (group <= 0)
            return invalid(op, text("group_shape is ", dims_string(groups),
                                       "; expected positive sizes"));
    const logical_tensor_t &src = op.inputs[0];
    if (has_rank(src) && groups.size() != static_cast<size_t>(src.ndims))
        return invalid(op,
                text("group_shape has ", groups.size(), " entries; expected ",
                        src.ndims, " (the rank of src)"));
    return {};
}

granularity_t dynamic_granularity(const op_record_t &op) {
    granularity_t result;
    if (const auto *qtype
            = find_attribute<std::string>(op, dnnl_graph_op_attr_qtype)) {
        if (*qtype == "per_channel") result.qtype = qtype_t::per_channel;
        if (*qtype == "per_group") result.qtype = qtype_t::per_group;
    }
    result.axis = axis_of(op);
    if (const auto *groups
            = find_attribute<dims_t>(op, dnnl_graph_op_attr_group_shape))
        result.group_shape = *groups;
    return result;
}

} // namespace

dim_t axis_of(const op_record_t &op) {
    const auto *axis = find_attribute<dims_t>(op, dnnl_graph_op_attr_axis);
    return axis ? axis->front() : 1;
}

result_t invalid(const op_record_t &op, const std::string &what) {
    return {status_t::invalid_graph_op, describe(op) + ": " + what};
}

result_t check_axis(const op_record_t &op, dim_t axis) {
    const logical_tensor_t &src = op.inputs[0];
    if (!has_rank(src)) return {};
    const dim_t rank = src.ndims;
    if (axis >= -rank && axis < rank) return {};
    if (rank == 0)
        return invalid(op, text("axis is ", axis,
                                   "; expected a tensor of rank 1 or more, "
                                   "found rank 0"));
    return invalid(
            op, text("axis is ", axis, "; expected a value in [", -rank, " .. ",
                        rank - 1, "] for a tensor of rank ", rank));
}

granularity_t granularity_of(const op_record_t &op) {
    return is_linear(op) ? linear_granularity(op) : dynamic_granularity(op);
}

namespace {

result_t check_granularity(const op_record_t &op) {
    const granularity_t granularity = dynamic_granularity(op);
    switch (granularity.qtype) {
    case qtype_t::per_channel: return check_axis(op, granularity.axis);
    case qtype_t::per_group: return check_groups(op, granularity);
    case qtype_t::per_tensor: break;
    }
    return {};
}

} // namespace

result_t check_dynamic(const op_record_t &op) {
    if (op.inputs.size() > 2) {
        const data_type_t quantized = quantized_type(op);
        const data_type_t zps = type_of(op.inputs[2]);
        const char *expected = is_floating(quantized) ? to_string(quantized)
                                                      : "an integer type";
        if (is_floating(quantized) != is_floating(zps))
            return invalid(op,
                    text("zps are of type ", to_string(zps), "; expected ",
                            expected, " for ", is_quantize(op) ? "dst" : "src",
                            " of type ", to_string(quantized)));
    }
    return check_granularity(op);
}

result_t check_range_quantize(const op_record_t &op) {
    const data_type_t y = type_of(op.outputs[0]);
    if (op.outputs.size() < 3 && y != data_type_t::s8)
        return invalid(
                op, text("y is of type ", to_string(y),
                            "; expected s8 where there is no y_zero_point"));
    if (op.outputs.size() > 2 && type_of(op.outputs[2]) != y)
        return invalid(op, text("y_zero_point is of type ",
                                   to_string(type_of(op.outputs[2])),
                                   "; expected y's type, ", to_string(y)));
    return check_granularity(op);
}

bool is_range_quantize(const op_record_t &op) {
    return op.kind == dnnl_dequant_op_DynamicQuantizeLinear;
}

dims_t group_sizes(const granularity_t &granularity, const dims_t &src_dims) {
    dims_t sizes = src_dims;
    if (granularity.qtype == qtype_t::per_channel) {
        const dim_t rank = static_cast<dim_t>(src_dims.size());
        const dim_t axis = granularity.axis;
        sizes[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
    }
    if (granularity.qtype == qtype_t::per_group)
        for (size_t d = 0; d < sizes.size(); ++d)
            sizes[d] = std::min(sizes[d], granularity.group_shape[d]);
    // A dimension of 0 has no groups; 1 keeps divisions defined.
    for (dim_t &size : sizes)
        size = std::max<dim_t>(size, 1);
    return sizes;
}

dims_t found_scales_dims(
        const granularity_t &granularity, const dims_t &src_dims) {
    if (granularity.qtype == qtype_t::per_tensor) return {};
    const dims_t sizes = group_sizes(granularity, src_dims);
    dims_t grid(src_dims.size());
    for (size_t d = 0; d < grid.size(); ++d)
        grid[d] = div_up(src_dims[d], sizes[d]);
    if (granularity.qtype == qtype_t::per_group) return grid;
    const dim_t rank = static_cast<dim_t>(src_dims.size());
    const dim_t axis = granularity.axis;
    return {grid[static_cast<size_t>(axis < 0 ? axis + rank : axis)]};
}

} // namespace dnnl_dequant
