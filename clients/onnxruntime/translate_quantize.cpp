// DequantizeLinear, QuantizeLinear, their relatives, DynamicQuantizeLinear.
#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

bool dequantizes(const node_t &node) {
    return node.op_type.find("Dequantize") != std::string::npos;
}

op_t::kind kind_of(const node_t &node) {
    if (is_quarks(node))
        return dequantizes(node) ? op_kind::ExtendedDequantizeLinear
                                 : op_kind::ExtendedQuantizeLinear;
    return dequantizes(node) ? op_kind::DequantizeLinear
                             : op_kind::QuantizeLinear;
}

// One scale for all of a tensor has one element, of any rank.
bool is_per_tensor(const builder_t &builder, const node_t &node) {
    return count_of(builder.dims(*node.inputs[1])) == 1;
}

std::string text_of(const dims_t &dims) {
    std::string text;
    for (const int64_t dim : dims)
        text += (text.empty() ? "[" : ", ") + std::to_string(dim);
    return text.empty() ? "[]" : text + "]";
}

// One scale an element of an axis, or a block of them.
bool scale_fits(
        const dims_t &dims, const dims_t &scale, int64_t axis, int64_t block) {
    const auto rank = static_cast<int64_t>(dims.size());
    if (axis < -rank || axis >= rank || block < 0) return false;
    const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    if (block == 0) return scale.size() == 1 && scale[0] == dims[at];
    if (scale.size() != dims.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
        const int64_t expected
                = i == at ? dims[i] / block + (dims[i] % block != 0) : dims[i];
        if (scale[i] != expected) return false;
    }
    return true;
}

// Axis and block of a scale that is no single number.
void check_scale(const builder_t &builder, const node_t &node) {
    const dims_t dims = builder.dims(*node.inputs[0]);
    const dims_t scale = builder.dims(*node.inputs[1]);
    const int64_t axis = node.int_or("axis", 1);
    const int64_t block = node.int_or("block_size", 0);
    if (scale_fits(dims, scale, axis, block)) return;
    fail(node, "a scale of shape " + text_of(scale)
                       + " does not fit an input of shape " + text_of(dims)
                       + ", axis " + std::to_string(axis) + " and block_size "
                       + std::to_string(block) + ".");
}

} // namespace

std::string quantization_refusal(const node_t &node) {
    for (const value_t *value : {node.input(0), node.input(1)})
        if (value == nullptr || value->type() == type_t::undef)
            return std::string("its input has type ")
                   + name_of(value ? value->element
                                   : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED);
    if (node.outputs.at(0)->type() == type_t::undef)
        return std::string("its output has type ")
               + name_of(node.outputs[0]->element);
    // ONNX divides in this type; the plugin always does in f32.
    const int64_t precision = node.int_or("precision", 0);
    if (precision != 0 && precision != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
        return "its attribute precision is not float";
    return std::string();
}

void translate_quantization(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const value_t &y = *node.outputs[0];
    const dims_t dims = builder.dims(x);
    const bool is_single_scale = is_per_tensor(builder, node);
    if (!is_single_scale) check_scale(builder, node);
    const bool is_flat
            = builder.flattens() && dims.size() > 2 && is_single_scale;
    std::vector<tensor_t> inputs {
            is_flat ? flat_activation(builder, x) : builder.use(x)};
    // A one-element scale and its zero point may differ in rank.
    for (size_t i = 1; i < node.inputs.size(); ++i) {
        const value_t *value = node.inputs[i];
        if (value == nullptr) continue;
        const bool is_single = count_of(builder.dims(*value)) == 1;
        inputs.push_back(is_single
                                 ? builder.view(*value, value->type(), {1}, {})
                                 : builder.use(*value));
    }
    const dims_t seen = is_flat ? dims_t {rows_of(dims), dims.back()} : dims;
    op_t &op = builder.op(
            kind_of(node), inputs, {builder.result(y, dims, seen)});
    op.set_attr<int64_t>(
            op_t::attr::axis, is_single_scale ? 0 : node.int_or("axis", 1));
    if (is_quarks(node)) return;
    const int64_t block = node.int_or("block_size", 0);
    if (block != 0 && !is_single_scale)
        op.set_attr<int64_t>(attr::block_size, block);
    if (!dequantizes(node))
        op.set_attr<bool>(attr::saturate, node.int_or("saturate", 1) != 0);
}

void translate_dynamic_quantize(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const dims_t dims = builder.dims(x);
    std::vector<tensor_t> outputs;
    for (size_t i = 0; i < 3; ++i) {
        const value_t *value = node.outputs.at(i);
        const dims_t shape = i == 0 ? dims : dims_t();
        const type_t type = i == 1 ? type_t::f32 : type_t::u8;
        const dims_t seen = i == 0 ? dims : dims_t {1};
        outputs.push_back(value ? builder.result(*value, shape, seen)
                                : builder.temporary(type, seen));
    }
    op_t &op = builder.op(
            op_kind::DynamicQuantizeLinear, {builder.use(x)}, outputs);
    op.set_attr<std::string>(op_t::attr::qtype, "per_tensor");
}

} // namespace dnnl_dequant::ort
