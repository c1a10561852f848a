// These ops follow a product element by element.
#include <algorithm>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

using kind_t = op_t::kind;

struct function_t {
    const char *op_type;
    kind_t kind;
    // null where the op has none
    const char *attribute;
    float otherwise;
};

const function_t functions[] = {
        {"Relu", kind_t::ReLU, nullptr, 0.f},
        {"Sigmoid", kind_t::Sigmoid, nullptr, 0.f},
        {"Tanh", kind_t::Tanh, nullptr, 0.f},
        {"Elu", kind_t::Elu, "alpha", 1.f},
        {"LeakyRelu", kind_t::LeakyReLU, "alpha", 0.01f},
        {"HardSwish", kind_t::HardSwish, nullptr, 0.f},
        {"Gelu", kind_t::GELU, nullptr, 0.f},
};

const function_t &function_of(const node_t &node) {
    for (const function_t &function : functions)
        if (node.op_type == function.op_type) return function;
    throw failure_t("dnnl_dequant: " + node.title() + " is no known function.");
}

// The place of the operand that is a vector along the last dimension.
size_t vector_operand(const node_t &node) {
    const value_t *second = node.input(1);
    return second != nullptr && second->is_constant ? 1 : 0;
}

} // namespace

std::string binary_refusal(const node_t &node) {
    const value_t *vector = node.input(vector_operand(node));
    if (vector == nullptr || !vector->is_constant)
        return "neither operand is a constant";
    if (!is_float(vector->type()))
        return std::string("its constant has type ") + name_of(vector->element);
    for (size_t i = 0; i + 1 < vector->dims.size(); ++i)
        if (vector->dims[i] != 1) return "its constant has more than one row";
    return std::string();
}

void translate_binary(builder_t &builder, const node_t &node) {
    const size_t place = vector_operand(node);
    const value_t &vector = *node.inputs[place];
    const value_t &value = *node.inputs[1 - place];
    const tensor_t tensor = builder.use(value);
    const dims_t dims = builder.dims(value);
    const int64_t count = count_of(vector.dims);
    if (vector.dims.size() > dims.size()
            || (count != 1 && count != dims.back()))
        fail(node, "a constant of " + std::to_string(count)
                           + " elements does not fit rows of "
                           + std::to_string(dims.back()) + ".");
    const tensor_t operand
            = builder.view(vector, vector.type(), {count}, dims_t());
    builder.op(node.op_type == "Add" ? kind_t::Add : kind_t::Multiply,
            {tensor, operand},
            {builder.result(*node.outputs[0], dims, tensor.get_dims())});
}

std::string unary_refusal(const node_t &node) {
    const auto approximate = node.strings.find("approximate");
    if (approximate != node.strings.end() && approximate->second != "none")
        return "its attribute approximate is '" + approximate->second + "'";
    return std::string();
}

void translate_unary(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const tensor_t tensor = builder.use(x);
    const function_t &function = function_of(node);
    op_t &op = builder.op(function.kind, {tensor},
            {builder.result(
                    *node.outputs[0], builder.dims(x), tensor.get_dims())});
    if (function.attribute != nullptr)
        op.set_attr<float>(op_t::attr::alpha,
                node.float_or(function.attribute, function.otherwise));
}

} // namespace dnnl_dequant::ort
