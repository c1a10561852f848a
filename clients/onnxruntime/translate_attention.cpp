// Attention's products, and the steps on scores between them. If heads are
// grouped (translate_cache.cpp), so are the tensors that meet the scores.
#include <algorithm>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

using kind_t = op_t::kind;

// Returns the dimensions of a tensor next to heads that are grouped: [...,
// heads, rows, columns] as
// [..., heads / group, group, rows, columns].
dims_t grouped(const node_t &node, dims_t dims, int64_t group, size_t rank) {
    if (group == 1 || dims.size() < 3) return dims;
    while (dims.size() < rank)
        dims.insert(dims.begin(), 1);
    const auto heads = dims.end() - 3;
    const bool is_one = *heads == 1;
    if (!is_one && *heads % group != 0)
        fail(node, "it has " + std::to_string(*heads) + " heads in groups of "
                           + std::to_string(group) + ".");
    *heads = is_one ? 1 : *heads / group;
    dims.insert(dims.end() - 2, is_one ? 1 : group);
    return dims;
}

// How many heads of queries share one of the keys.
int64_t group_of(builder_t &builder, const value_t &value) {
    if (!is_grouped(builder, value)) return 1;
    const int64_t heads = builder.use(value).get_dims()[1];
    return heads == 0 ? 1 : builder.dims(value)[1] / heads;
}

// Returns a value from outside, grouped like the tensors that it meets.
tensor_t outside(builder_t &builder, const node_t &node, const value_t &value,
        type_t type, int64_t group, size_t rank) {
    dims_t dims = builder.dims(value);
    if (dims.empty()) dims = {1};
    return builder.view(value, type, grouped(node, dims, group, rank), {});
}

void translate_heads(builder_t &builder, const node_t &node) {
    const value_t &a = *node.inputs[0], &b = *node.inputs[1];
    const dims_t left = builder.dims(a), right = builder.dims(b);
    const size_t rank = left.size();
    if (rank < 3 || right.size() != rank)
        fail(node, "its inputs have ranks " + std::to_string(rank) + " and "
                           + std::to_string(right.size()) + ".");
    if (left.back() != right[rank - 2])
        fail(node, "its inputs have " + std::to_string(left.back())
                           + " columns and " + std::to_string(right[rank - 2])
                           + " rows.");
    dims_t dims = left;
    for (size_t i = 0; i + 2 < rank; ++i)
        if (left[i] != right[i] && right[i] != 1)
            fail(node, "batches of " + std::to_string(left[i]) + " and "
                               + std::to_string(right[i]) + " were given.");
    dims.back() = right.back();
    const int64_t group = std::max(group_of(builder, a), group_of(builder, b));
    const auto factor = [&](const value_t &value) {
        if (!builder.is_input(value)) return builder.use(value);
        return outside(builder, node, value, value.type(), group, rank);
    };
    const tensor_t first = factor(a), second = factor(b);
    builder.op(kind_t::MatMul, {first, second},
            {builder.result(
                    *node.outputs[0], dims, grouped(node, dims, group, rank))});
}

// Add, Mul, Div and Where: scores and another tensor.
void translate_score_step(builder_t &builder, const node_t &node) {
    const value_t *scores = nullptr;
    for (const value_t *value : node.inputs)
        if (!builder.is_input(*value)) scores = value;
    if (scores == nullptr) fail(node, "none of its inputs is a score.");
    const dims_t dims = builder.dims(*scores);
    const tensor_t tensor = builder.use(*scores);
    const int64_t group = group_of(builder, *scores);
    std::vector<tensor_t> inputs;
    for (const value_t *value : node.inputs) {
        if (value == scores) {
            inputs.push_back(tensor);
            continue;
        }
        const dims_t other = builder.dims(*value);
        bool fits = other.size() <= dims.size();
        for (size_t i = 0; fits && i < other.size(); ++i)
            fits = other[i] == 1
                   || other[i] == dims[dims.size() - other.size() + i];
        if (!fits) fail(node, "an input does not broadcast to the scores.");
        const type_t type = value->element == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL
                                    ? type_t::boolean
                                    : value->type();
        inputs.push_back(
                outside(builder, node, *value, type, group, dims.size()));
    }
    const kind_t kind = node.op_type == "Add"   ? kind_t::Add
                        : node.op_type == "Mul" ? kind_t::Multiply
                        : node.op_type == "Div" ? kind_t::Divide
                                                : kind_t::Select;
    builder.op(kind, inputs,
            {builder.result(*node.outputs[0], dims, tensor.get_dims())});
}

void translate_softmax(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const tensor_t tensor = builder.use(x);
    builder.op(kind_t::SoftMax, {tensor},
                   {builder.result(*node.outputs[0], builder.dims(x),
                           tensor.get_dims())})
            .set_attr<int64_t>(op_t::attr::axis,
                    static_cast<int64_t>(tensor.get_dims().size()) - 1);
}

} // namespace

void translate_attention(
        builder_t &builder, const node_t &node, const settings_t &settings) {
    if (node.is("MatMul")) return translate_heads(builder, node);
    if (node.is("Softmax")) return translate_softmax(builder, node);
    if (node.is("Add") || node.is("Mul") || node.is("Div") || node.is("Where"))
        return translate_score_step(builder, node);
    translate_cache(builder, node, settings);
}

std::string score_refusal(const node_t &node) {
    if (node.is("Tanh")) return std::string();
    if (node.is("Cast")) return translation_refusal(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        const value_t *value = node.input(i);
        if (value == nullptr || !value->has_rank)
            return "an input of " + node.title() + " has an unknown rank";
        const bool is_condition = node.is("Where") && i == 0;
        if (!is_condition && !is_float(value->type()))
            return "an input of " + node.title() + " has type "
                   + name_of(value->element);
    }
    return std::string();
}

} // namespace dnnl_dequant::ort
