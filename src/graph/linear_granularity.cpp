// ONNX's rules: the shape of the scale says the granularity. One element of
// any rank is per-tensor, whatever the axis; a list is per-axis; with a
// block_size the scale has x's rank and the quantization is blocked.

#include "base/text.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity_rules.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"

namespace dnnl_dequant {

namespace {

dim_t block_size_of(const op_record_t &op) {
    const auto *size = find_attribute<dims_t>(op, dnnl_dequant_attr_block_size);
    return size ? size->front() : 0;
}

bool is_one_element(const logical_tensor_t &tensor) {
    return has_shape(tensor) && element_count(tensor) == 1;
}

size_t normalized(dim_t axis, dim_t rank) {
    return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

result_t check_zero_point(const op_record_t &op) {
    if (op.inputs.size() < 3) return {};
    const logical_tensor_t &scale = op.inputs[1], &zero_point = op.inputs[2];
    const std::string who = describe(op) + ": " + input_name(op, 2);
    if (type_of(zero_point) != quantized_type(op))
        return {status_t::invalid_graph_op,
                text(who, " is of type ", to_string(type_of(zero_point)),
                        "; expected ", is_quantize(op) ? "y" : "x", "'s type, ",
                        to_string(quantized_type(op)))};
    const bool known = has_shape(scale) && has_shape(zero_point);
    if (known && dims_of(scale) != dims_of(zero_point)
            && !(is_one_element(scale) && is_one_element(zero_point)))
        return {status_t::invalid_shape,
                text(who, " has shape ", shape_string(zero_point),
                        "; expected ", input_name(op, 1), "'s, ",
                        shape_string(scale))};
    return {};
}

// ONNX allows just those block sizes that give the scale its size.
result_t check_block(const op_record_t &op, dim_t block) {
    const logical_tensor_t &x = op.inputs[0], &scale = op.inputs[1];
    const dim_t axis = axis_of(op);
    if (result_t result = check_axis(op, axis); !result.ok()) return result;
    if (has_rank(x) && has_rank(scale) && x.ndims != scale.ndims)
        return {status_t::invalid_shape,
                text(describe(op), ": ", input_name(op, 1), " has shape ",
                        shape_string(scale), "; expected rank ", x.ndims,
                        " (x's) with a block_size")};
    if (!has_shape(x) || !has_shape(scale)) return {};
    const size_t at = normalized(axis, x.ndims);
    const dim_t size = x.dims[at], blocks = scale.dims[at];
    // No block_size overflows in this form.
    const dim_t cut = size / block + (size % block != 0);
    if (cut == blocks) return {};
    return invalid(
            op, text("block_size is ", block, ", which cuts ", size,
                        " elements (dimension ", at, " of x ", shape_string(x),
                        ") into ", cut, " blocks; expected ", input_name(op, 1),
                        "'s ", blocks, " (", shape_string(scale), ")"));
}

} // namespace

bool is_quantize(const op_record_t &op) {
    return op.kind == dnnl_graph_op_dynamic_quantize
           || op.kind == dnnl_dequant_op_QuantizeLinear
           || op.kind == dnnl_dequant_op_ExtendedQuantizeLinear;
}

data_type_t quantized_type(const op_record_t &op) {
    return type_of(is_quantize(op) ? op.outputs[0] : op.inputs[0]);
}

bool is_linear(const op_record_t &op) {
    return op.kind == dnnl_dequant_op_DequantizeLinear
           || op.kind == dnnl_dequant_op_ExtendedDequantizeLinear
           || op.kind == dnnl_dequant_op_QuantizeLinear
           || op.kind == dnnl_dequant_op_ExtendedQuantizeLinear;
}

bool demands_zero(const op_record_t &op) {
    return (op.kind == dnnl_dequant_op_DequantizeLinear
                   || op.kind == dnnl_dequant_op_QuantizeLinear)
           && is_floating(quantized_type(op));
}

result_t check_linear(const op_record_t &op) {
    if (result_t result = check_zero_point(op); !result.ok()) return result;
    const dim_t block = block_size_of(op);
    if (block < 0)
        return invalid(
                op, text("block_size is ", block, "; expected 0 or more"));
    if (block > 0) return check_block(op, block);
    const logical_tensor_t &scale = op.inputs[1];
    if (!has_shape(scale) || is_one_element(scale)) return {};
    return check_axis(op, axis_of(op));
}

granularity_t linear_granularity(const op_record_t &op) {
    const logical_tensor_t &x = op.inputs[0], &scale = op.inputs[1];
    granularity_t result;
    result.axis = axis_of(op);
    if (const dim_t block = block_size_of(op); block > 0) {
        result.qtype = qtype_t::per_group;
        result.group_shape.assign(static_cast<size_t>(x.ndims), 1);
        result.group_shape[normalized(result.axis, x.ndims)] = block;
    } else if (!is_one_element(scale)) {
        result.qtype = qtype_t::per_channel;
    }
    return result;
}

} // namespace dnnl_dequant
