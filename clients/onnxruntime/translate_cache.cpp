// Keys and values on their way to a product of attention. Heads of queries may
// share them: Unsqueeze, Expand and Reshape then repeat them, which the graph
// does without. It sees [batch, heads, ...] as [batch, heads of keys, group,
// ...].
#include <algorithm>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

using kind_t = op_t::kind;

dims_t axes_of(const node_t &node) {
    const auto found = node.int_lists.find("axes");
    if (found != node.int_lists.end()) return found->second;
    return node.input(1) == nullptr ? dims_t() : integers_of(*node.inputs[1]);
}

void translate_unsqueeze(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    dims_t dims = builder.dims(x);
    if (is_grouped(builder, x)) fail(node, "it moves heads that are grouped.");
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
    if (dims.size() != 5) fail(node, "it moves heads that are grouped.");
    const dims_t merged {dims[0], dims[1] * dims[2], dims[3], dims[4]};
    const dims_t shape = integers_of(*node.inputs[1]);
    const bool fits = std::count(shape.begin(), shape.end(), -1) <= 1
                      && reshaped(dims, shape, node.int_or("allowzero", 0) != 0)
                                 == merged;
    if (!fits) fail(node, "its shape does not merge groups of heads.");
    builder.alias(*node.outputs[0], x, merged);
}

// Only rows and columns change places where heads are grouped.
void transpose_grouped(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    dims_t dims = builder.dims(x);
    const auto perm = node.int_lists.find("perm");
    if (dims.size() != 4 || perm == node.int_lists.end()
            || perm->second != dims_t {0, 1, 3, 2})
        fail(node, "it moves heads that are grouped.");
    const tensor_t tensor = builder.use(x);
    dims_t seen = tensor.get_dims();
    std::swap(seen[3], seen[4]);
    std::swap(dims[2], dims[3]);
    builder.op(kind_t::StaticTranspose, {tensor},
                   {builder.result(*node.outputs[0], dims, seen)})
            .set_attr<dims_t>(op_t::attr::order, {0, 1, 2, 4, 3});
}

// Translates a quantize behind a dequantize by the same scale: nothing changes.
void translate_pair(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    builder.alias(*node.outputs[0], x, builder.dims(x));
}

} // namespace

bool is_grouped(builder_t &builder, const value_t &value) {
    return !builder.is_input(value)
           && builder.use(value).get_dims() != builder.dims(value);
}

void translate_cache(
        builder_t &builder, const node_t &node, const settings_t &settings) {
    const value_t &x = *node.inputs[0];
    if (node.is("Unsqueeze")) return translate_unsqueeze(builder, node);
    if (node.is("Expand")) return translate_expand(builder, node);
    if (node.is("Reshape") && is_grouped(builder, x))
        return translate_merge(builder, node);
    if (node.is("Transpose") && is_grouped(builder, x))
        return transpose_grouped(builder, node);
    // Integers that come of integers inside: see form_attention_cache.cpp.
    const bool is_pair
            = node.op_type == "QuantizeLinear"
              || (node.op_type == "DequantizeLinear" && !builder.is_input(x));
    if (is_pair) return translate_pair(builder, node);
    translate(builder, node, settings);
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
