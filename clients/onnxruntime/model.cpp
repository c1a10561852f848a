#include "model.hpp"

#include <algorithm>

#include "model_read.hpp"
#include "status.hpp"

namespace dnnl_dequant::ort {

bool node_t::is(const char *type, const char *of_domain) const {
    return op_type == type
           && (domain == of_domain
                   || (domain == "ai.onnx" && *of_domain == '\0'));
}

int64_t node_t::int_or(const char *attribute, int64_t otherwise) const {
    const auto found = ints.find(attribute);
    return found == ints.end() ? otherwise : found->second;
}

float node_t::float_or(const char *attribute, float otherwise) const {
    const auto found = floats.find(attribute);
    return found == floats.end() ? otherwise : found->second;
}

const value_t *node_t::input(size_t i) const {
    return i < inputs.size() ? inputs[i] : nullptr;
}

std::string node_t::title() const {
    return name.empty() ? op_type + " (no name)" : op_type + " " + name;
}

node_t &model_t::add_node() {
    node_t &node = nodes_.emplace_back();
    node.index = nodes_.size() - 1;
    return node;
}

value_t *model_t::read_value(const OrtApi &api, const OrtValueInfo *info) {
    const char *name = read::value_name(api, info);
    // An optional input or output that is absent.
    if (name == nullptr || *name == '\0') return nullptr;
    const auto [place, is_new] = values_.try_emplace(name);
    value_t &value = place->second;
    if (is_new) {
        value.name = name;
        check(api,
                api.ValueInfo_IsConstantInitializer(info, &value.is_constant));
        read::type_and_shape(api, info, value);
        check(api, api.ValueInfo_IsGraphOutput(info, &value.is_output));
        check(api, api.ValueInfo_IsFromOuterScope(info, &value.is_outer));
    }
    return &value;
}

void model_t::read_node(const OrtApi &api, const OrtNode *handle) {
    node_t &node = add_node();
    node.handle = handle;
    read::names(api, node);
    read::attributes(api, node);
    for (const OrtValueInfo *info : read::inputs(api, handle)) {
        value_t *value = read_value(api, info);
        const size_t place = node.inputs.size();
        if (value != nullptr && value->is_constant
                && read::wants_content(node, place))
            read::content(api, info, *value);
        node.inputs.push_back(value);
    }
    for (const OrtValueInfo *info : read::outputs(api, handle))
        node.outputs.push_back(read_value(api, info));
    infer_shapes(node);
}

// ONNX Runtime infers no shapes of other libraries' custom ops.
void model_t::infer_shapes(const node_t &node) {
    const value_t *x = node.input(0);
    if (x == nullptr || !x->has_rank || node.outputs.size() != 1
            || node.outputs[0]->has_rank
            || node.op_type.find("uantizeLinear") == std::string::npos)
        return;
    value_t &y = values_[node.outputs[0]->name];
    y.dims = x->dims;
    y.has_rank = true;
}

bool model_t::uses_outer_values() const {
    return std::any_of(values_.begin(), values_.end(),
            [](const auto &entry) { return entry.second.is_outer; });
}

void model_t::read_uses(const OrtApi &api, const node_t &node) {
    for (const value_t *value : node.inputs)
        if (value != nullptr) values_[value->name].consumers.push_back(&node);
    for (const value_t *value : node.outputs)
        if (value != nullptr) values_[value->name].producer = &node;
    for (const OrtValueInfo *info : read::implicit_inputs(api, node.handle)) {
        value_t *value = read_value(api, info);
        if (value != nullptr) value->consumers.push_back(&node);
    }
}

model_t::model_t(const OrtApi &api, const OrtGraph &graph) {
    for (const OrtNode *handle : read::nodes(api, graph))
        read_node(api, handle);
    for (const node_t &node : nodes_)
        read_uses(api, node);
}

} // namespace dnnl_dequant::ort
