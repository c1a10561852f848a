// A product whose weights are dequantized:
//     DequantizeLinear -> {Transpose, Reshape, Cast}* -> MatMul | Gemm
//     -> {Add, Mul, Relu, ...}*
// or, where the activation is dequantized too, all of a chain of QDQ:
//     DequantizeLinear(x), DequantizeLinear(weights) -> MatMul | Gemm
//     -> {Add, ...}* -> QuantizeLinear
// ONNX Runtime fuses such a chain to integers by itself; a part of it must not
// be taken.
#include <algorithm>

#include "forms.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

bool dequantizes(const node_t &node) {
    return node.op_type.find("DequantizeLinear") != std::string::npos;
}

bool may_anchor(const node_t &node) {
    return node.is("MatMul") || node.is("Gemm");
}

bool moves(const node_t &node) {
    return node.is("Transpose") || node.is("Reshape") || node.is("Cast");
}

// The node that dequantizes the weights of a product that was matched.
const node_t &dequantize_of(const node_t &product) {
    const node_t *node = product.inputs[1]->producer;
    while (!dequantizes(*node))
        node = node->inputs[0]->producer;
    return *node;
}

// Adds the ops that make the weights.
std::string add_weights(const value_t &weights, claim_t &claim) {
    const value_t *value = &weights;
    while (true) {
        const node_t *node = value->producer;
        if (node == nullptr || (!moves(*node) && !dequantizes(*node)))
            return "its weights are not dequantized";
        if (only_use(*value) == nullptr)
            return "its dequantized weights have other uses";
        const std::string why = translation_refusal(*node);
        if (!why.empty()) return node->title() + ": " + why;
        claim.nodes.push_back(node);
        if (dequantizes(*node)) return std::string();
        value = node->inputs[0];
    }
}

bool is_quantized_chain(const node_t &anchor) {
    const node_t *producer = anchor.inputs[0]->producer;
    return producer != nullptr && dequantizes(*producer);
}

// Adds the activation's dequantize and the last quantize, or says why not.
std::string add_chain(const node_t &anchor, claim_t &claim) {
    const node_t *dequantize = anchor.inputs[0]->producer;
    if (only_use(*anchor.inputs[0]) == nullptr)
        return "its dequantized activation has other uses";
    const std::string why = translation_refusal(*dequantize);
    if (!why.empty()) return dequantize->title() + ": " + why;
    claim.nodes.push_back(dequantize);
    const node_t *last = claim.nodes[claim.nodes.size() - 2];
    const node_t *quantize = only_use(*last->outputs[0]);
    if (quantize == nullptr || quantize->op_type != "QuantizeLinear")
        return std::string();
    const std::string refusal = translation_refusal(*quantize);
    if (!refusal.empty()) return quantize->title() + ": " + refusal;
    claim.nodes.push_back(quantize);
    return std::string();
}

std::string match(const node_t &anchor, claim_t &claim) {
    std::string why = translation_refusal(anchor);
    if (!why.empty()) return why;
    const value_t &weights = *anchor.inputs[1];
    if (!weights.has_rank || weights.dims.size() < 2)
        return "its weights are a vector, or of unknown rank";
    why = add_weights(weights, claim);
    if (!why.empty()) return why;
    claim.nodes.push_back(&anchor);
    append_elementwise(claim, *anchor.outputs[0]);
    return is_quantized_chain(anchor) ? add_chain(anchor, claim)
                                      : std::string();
}

void build(
        const claim_t &claim, const settings_t &settings, builder_t &builder) {
    const auto anchor = std::find_if(claim.nodes.begin(), claim.nodes.end(),
            [](const node_t *node) { return may_anchor(*node); });
    builder.set_flattens((*anchor)->inputs[1]->dims.size() == 2);
    if (quantizes_activation(**anchor, settings))
        for (const node_t *node = (*anchor)->inputs[1]->producer;
                node != nullptr && !node->is("Cast");
                node = node->inputs[0]->producer)
            builder.widen(*node->outputs[0]);
    build_by_nodes(claim, settings, builder);
}

// ONNX Runtime quantizes activations of its own accord where weights have 4 or
// 8 bits. Exact products are not as fast; those of level 4 are faster. Wider
// weights, and those of Quark's ops, are dequantized whole at every run.
std::string slower(const claim_t &claim, const settings_t &settings) {
    const node_t &product
            = **std::find_if(claim.nodes.begin(), claim.nodes.end(),
                    [](const node_t *node) { return may_anchor(*node); });
    const node_t &dequantize = dequantize_of(product);
    const value_t &weights = *dequantize.inputs[0];
    const size_t bits = bits_of(weights.type());
    if (!weights.is_constant) return "its weights are no constants";
    const bool has_quarks = std::any_of(claim.nodes.begin(), claim.nodes.end(),
            [](const node_t *node) { return is_quarks(*node); });
    if (is_quantized_chain(product) && !has_quarks)
        return "ONNX Runtime fuses this chain to integers";
    if (bits > 8) return std::string();
    if (product_level(dequantize, settings) == 4)
        return small_product(product.inputs[0]->dims, count_of(weights.dims),
                least_integer_weights);
    if (is_quarks(dequantize)) return std::string();
    return "ONNX Runtime multiplies weights of " + std::to_string(bits)
           + " bits with activations of 8 bits";
}

} // namespace

const form_t product_form {
        "product of dequantized weights", may_anchor, match, build, slower};

} // namespace dnnl_dequant::ort
