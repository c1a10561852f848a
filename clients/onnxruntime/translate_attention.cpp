// Ops of attention. Heads of queries may share keys and values: these are then
// repeated by Unsqueeze, Expand and Reshape, which the graph does without. It
// sees [batch, heads, ...] as [batch, heads of keys, group, ...].
#include <algorithm>
#include <cstring>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

using kind_t = op_t::kind;

[[noreturn]] void fail(const node_t &node, const std::string &what) {
    throw failure_t("dnnl_dequant: " + node.title() + ": " + what,
            ORT_INVALID_ARGUMENT);
}

dims_t integers_of(const value_t &constant) {
    dims_t result(constant.content.size() / sizeof(int64_t));
    std::memcpy(result.data(), constant.content.data(),
            result.size() * sizeof(int64_t));
    return result;
}

dims_t axes_of(const node_t &node) {
    const auto found = node.int_lists.find("axes");
    if (found != node.int_lists.end()) return found->second;
    return node.input(1) == nullptr ? dims_t() : integers_of(*node.inputs[1]);
}

// Dimensions beside heads that are grouped: [..., heads, rows, columns] as
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

void translate_unsqueeze(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    dims_t dims = builder.dims(x);
    const int64_t rank = static_cast<int64_t>(dims.size()) + 1;
    int64_t axis = axes_of(node).at(0);
    if (axis < -rank || axis >= rank)
        fail(node, "its axis is " + std::to_string(axis) + ", the rank "
                           + std::to_string(rank) + ".");
    axis = axis < 0 ? axis + rank : axis;
    dims.insert(dims.begin() + axis, 1);
    builder.op(kind_t::StaticReshape, {builder.use(x)},
                   {builder.result(*node.outputs[0], dims)})
            .set_attr<dims_t>(op_t::attr::shape, dims)
            .set_attr<bool>(op_t::attr::special_zero, false);
}

// Only a group may be expanded, which the product does by a broadcast.
void translate_expand(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    dims_t dims = builder.dims(x);
    const dims_t shape = integers_of(*node.inputs[1]);
    const tensor_t tensor = builder.use(x);
    const size_t group_axis = dims.size() - 3;
    bool fits = shape.size() == dims.size() && dims.size() == 5
                && tensor.get_dims() == dims && dims[group_axis] == 1;
    for (size_t i = 0; fits && i < dims.size(); ++i) {
        fits = i == group_axis || shape[i] == 1 || shape[i] == dims[i];
        if (i == group_axis) dims[i] = std::max<int64_t>(shape[i], 1);
    }
    if (!fits) fail(node, "it expands more than groups of heads.");
    builder.alias(*node.outputs[0], x, dims);
}

// [batch, heads, group, rows, columns] as [batch, heads * group, ...], where
// the group was expanded.
void translate_merge(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const dims_t dims = builder.dims(x);
    const dims_t merged {dims[0], dims[1] * dims[2], dims[3], dims[4]};
    dims_t shape = integers_of(*node.inputs[1]);
    const bool keeps_zeros = node.int_or("allowzero", 0) != 0;
    bool fits = shape.size() == merged.size()
                && std::count(shape.begin(), shape.end(), -1) <= 1;
    for (size_t i = 0; fits && i < shape.size(); ++i) {
        const int64_t wanted
                = shape[i] == 0 && !keeps_zeros ? dims[i] : shape[i];
        fits = wanted == -1 || wanted == merged[i];
    }
    if (!fits) fail(node, "its shape does not merge groups of heads.");
    builder.alias(*node.outputs[0], x, merged);
}

// Only rows and columns change places where heads are grouped.
void translate_turn(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    dims_t dims = builder.dims(x);
    const auto perm = node.int_lists.find("perm");
    if (perm == node.int_lists.end() || perm->second != dims_t {0, 1, 3, 2})
        fail(node, "it moves heads that are grouped.");
    const tensor_t tensor = builder.use(x);
    dims_t seen = tensor.get_dims();
    std::swap(seen[3], seen[4]);
    std::swap(dims[2], dims[3]);
    builder.op(kind_t::StaticTranspose, {tensor},
                   {builder.result(*node.outputs[0], dims, seen)})
            .set_attr<dims_t>(op_t::attr::order, {0, 1, 2, 4, 3});
}

bool is_grouped(builder_t &builder, const value_t &value) {
    return builder.is_bound(value)
           && builder.use(value).get_dims() != builder.dims(value);
}

// How many heads of queries share one of the keys.
int64_t group_of(builder_t &builder, const value_t &value) {
    if (!is_grouped(builder, value)) return 1;
    return builder.dims(value)[1] / builder.use(value).get_dims()[1];
}

// A value from outside as the graph sees those beside it.
tensor_t beside(builder_t &builder, const node_t &node, const value_t &value,
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
        if (builder.is_bound(value)) return builder.use(value);
        return beside(builder, node, value, value.type(), group, rank);
    };
    const tensor_t first = factor(a), second = factor(b);
    builder.op(kind_t::MatMul, {first, second},
            {builder.result(
                    *node.outputs[0], dims, grouped(node, dims, group, rank))});
}

// Add, Mul, Div and Where: scores and a tensor beside them.
void translate_beside(builder_t &builder, const node_t &node) {
    const value_t *scores = nullptr;
    for (const value_t *value : node.inputs)
        if (builder.is_bound(*value)) scores = value;
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
                beside(builder, node, *value, type, group, dims.size()));
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

// What quantizes again what was dequantized by the same scale.
void translate_pair(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    builder.alias(*node.outputs[0], x, builder.dims(x));
}

} // namespace

void translate_attention(
        builder_t &builder, const node_t &node, const settings_t &settings) {
    const value_t &x = *node.inputs[0];
    if (node.is("MatMul")) return translate_heads(builder, node);
    if (node.is("Softmax")) return translate_softmax(builder, node);
    if (node.is("Unsqueeze")) return translate_unsqueeze(builder, node);
    if (node.is("Expand")) return translate_expand(builder, node);
    if (node.is("Add") || node.is("Mul") || node.is("Div") || node.is("Where"))
        return translate_beside(builder, node);
    if (node.is("Reshape") && is_grouped(builder, x))
        return translate_merge(builder, node);
    if (node.is("Transpose") && is_grouped(builder, x))
        return translate_turn(builder, node);
    // Integers that come of integers inside: see form_attention.cpp.
    const bool is_pair
            = node.op_type == "QuantizeLinear"
              || (node.op_type == "DequantizeLinear" && builder.is_bound(x));
    if (is_pair) return translate_pair(builder, node);
    translate(builder, node, settings);
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

std::string cache_move_refusal(const node_t &node) {
    if (!node.is("Unsqueeze") && !node.is("Expand"))
        return translation_refusal(node);
    if (node.is("Expand")
            && (node.input(1) == nullptr || node.inputs[1]->content.empty()))
        return "its shape is no constant";
    if (node.is("Unsqueeze") && axes_of(node).size() != 1)
        return "it has not one constant axis";
    return std::string();
}

} // namespace dnnl_dequant::ort
