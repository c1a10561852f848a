#include "forms.hpp"

#include <algorithm>

#include "translate.hpp"

namespace dnnl_dequant::ort {

const std::vector<form_t> &forms() {
    static const std::vector<form_t> table {attention_form,
            integer_product_form, nbits_form, product_form, quantization_form};
    return table;
}

const node_t *only_use(const value_t &value) {
    return value.is_output || value.consumers.size() != 1 ? nullptr
                                                          : value.consumers[0];
}

void append_elementwise(claim_t &claim, const value_t &product) {
    static const char *const followers[] = {"Add", "Mul", "Relu", "Sigmoid",
            "Tanh", "Elu", "LeakyRelu", "HardSwish", "Gelu"};
    const value_t *value = &product;
    while (const node_t *node = only_use(*value)) {
        const bool follows = std::find(std::begin(followers),
                                     std::end(followers), node->op_type)
                             != std::end(followers);
        if (!follows || !translation_refusal(*node).empty()) return;
        claim.nodes.push_back(node);
        value = node->outputs[0];
    }
}

void sort_nodes(claim_t &claim) {
    std::sort(claim.nodes.begin(), claim.nodes.end(),
            [](const node_t *a, const node_t *b) {
        return a->index < b->index;
    });
}

void build_by_nodes(
        const claim_t &claim, const settings_t &settings, builder_t &builder) {
    for (const node_t *node : claim.nodes)
        translate(builder, *node, settings);
}

kernel_ports_t ports_of(const claim_t &claim) {
    kernel_ports_t ports;
    const auto is_inside = [&](const node_t *node) {
        return std::find(claim.nodes.begin(), claim.nodes.end(), node)
               != claim.nodes.end();
    };
    const auto add
            = [](std::vector<const value_t *> &list, const value_t *value) {
        if (std::find(list.begin(), list.end(), value) == list.end())
            list.push_back(value);
    };
    for (const node_t *node : claim.nodes) {
        for (const value_t *value : node->inputs)
            if (value != nullptr && !is_inside(value->producer))
                add(ports.inputs, value);
        for (const value_t *value : node->outputs) {
            if (value == nullptr) continue;
            const bool is_used = std::any_of(value->consumers.begin(),
                    value->consumers.end(),
                    [&](const node_t *user) { return !is_inside(user); });
            if (value->is_output || is_used) add(ports.outputs, value);
        }
    }
    return ports;
}

std::string small_product(
        const dims_t &activation, int64_t weights, int64_t least) {
    // A quarter of the weights will do where there are so many rows.
    constexpr int64_t some_rows = 4;
    const bool has_rows = std::all_of(activation.begin(), activation.end(),
                                  [](int64_t dim) { return dim > 0; })
                          && rows_of(activation) >= some_rows;
    if (has_rows) least /= 4;
    if (weights >= least) return std::string();
    return "its product has " + std::to_string(weights) + " weights; from "
           + std::to_string(least) + " on it is faster";
}

} // namespace dnnl_dequant::ort
