// Attention over keys or values that are dequantized, such as a model's cache:
//     keys: DequantizeLinear -> {Transpose, Reshape, Cast, Unsqueeze, Expand}*
//     scores: MatMul(query, keys) -> {Mul, Div, Add, Where, Tanh, Cast}*
//     MatMul(Softmax(scores) [-> Cast], values)
// All of it is one partition of oneDNN's graph.
#include <algorithm>

#include "forms.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

// Ops between the first product and Softmax, at most.
constexpr int most_score_ops = 12;

const node_t *softmax_of(const node_t &product) {
    const value_t *weights = product.input(0);
    const node_t *node = weights == nullptr ? nullptr : weights->producer;
    if (node != nullptr && node->is("Cast") && node->input(0) != nullptr)
        node = node->inputs[0]->producer;
    return node != nullptr && node->is("Softmax") ? node : nullptr;
}

bool may_anchor(const node_t &node) {
    return node.is("MatMul") && softmax_of(node) != nullptr;
}

bool is_last_axis(const node_t &softmax) {
    const auto rank = static_cast<int64_t>(softmax.inputs[0]->dims.size());
    const int64_t axis
            = softmax.int_or("axis", softmax.since_version < 13 ? 1 : -1);
    return axis == -1 || axis == rank - 1;
}

// The inputs that scores may come by.
std::vector<size_t> score_inputs(const node_t &node) {
    if (node.is("Add") || node.is("Mul")) return {0, 1};
    if (node.is("Div") || node.is("Tanh") || node.is("Cast")) return {0};
    if (node.is("Where")) return {1, 2};
    return {};
}

// Appends the ops from the product that makes scores to `value`.
const node_t *add_scores(
        const value_t &value, int depth, std::vector<const node_t *> &nodes) {
    const node_t *node = value.producer;
    if (node == nullptr || depth > most_score_ops || only_use(value) == nullptr)
        return nullptr;
    if (node->is("MatMul")) {
        nodes.push_back(node);
        return node;
    }
    for (const size_t i : score_inputs(*node)) {
        if (node->input(i) == nullptr || !score_refusal(*node).empty())
            continue;
        const node_t *scores = add_scores(*node->inputs[i], depth + 1, nodes);
        if (scores == nullptr) continue;
        nodes.push_back(node);
        return scores;
    }
    return nullptr;
}

std::string product_rank_refusal(const node_t &product) {
    const std::string why = product_refusal(product);
    if (!why.empty()) return why;
    if (!product.inputs[1]->has_rank || product.inputs[0]->dims.size() < 3
            || product.inputs[0]->dims.size() != product.inputs[1]->dims.size())
        return "its inputs have not one rank of three or more";
    return std::string();
}

std::string match(const node_t &anchor, claim_t &claim) {
    const node_t *softmax = softmax_of(anchor);
    std::string why = product_rank_refusal(anchor);
    if (!why.empty()) return why;
    if (!is_last_axis(*softmax)) return "its Softmax has another axis";
    for (const node_t *node = anchor.inputs[0]->producer;;
            node = node->inputs[0]->producer) {
        if (only_use(*node->outputs[0]) == nullptr)
            return "its weights have other uses";
        claim.nodes.push_back(node);
        if (node == softmax) break;
    }
    const node_t *scores = add_scores(*softmax->inputs[0], 0, claim.nodes);
    if (scores == nullptr) return "no product leads to its Softmax";
    why = product_rank_refusal(*scores);
    if (!why.empty()) return why;
    const bool has_keys = append_cache(*scores->inputs[1], claim);
    const bool has_values = append_cache(*anchor.inputs[1], claim);
    if (!has_keys && !has_values)
        return "neither its keys nor its values are dequantized";
    claim.nodes.push_back(&anchor);
    return std::string();
}

void build(
        const claim_t &claim, const settings_t &settings, builder_t &builder) {
    builder.set_wants_one_partition();
    for (const node_t *node : claim.nodes)
        translate_attention(builder, *node, settings);
}

// The figures behind these are in README.md: one query gains from this number
// of elements on, several queries from this number of tokens on.
constexpr int64_t least_elements = 1 << 15;
constexpr int64_t least_tokens = 1024;
constexpr int64_t most_rows = 64;

// New shapes are compiled, which takes as long as attention of some hundred
// tokens: where one comes with each token, nothing is gained.
std::string slower(const claim_t &claim, const settings_t &) {
    const auto scores = std::find_if(claim.nodes.begin(), claim.nodes.end(),
            [](const node_t *node) { return node->is("MatMul"); });
    const dims_t &query = (*scores)->inputs[0]->dims;
    const dims_t &keys = (*scores)->inputs[1]->dims;
    for (const dims_t &dims : {query, keys})
        for (const int64_t dim : dims)
            if (dim <= 0) return "its shapes are unknown";
    const int64_t rows = query[query.size() - 2], tokens = keys.back();
    if (rows == 1 && count_of(keys) < least_elements)
        return "its keys have fewer than " + std::to_string(least_elements)
               + " elements";
    if (rows > 1 && (tokens < least_tokens || rows > most_rows))
        return "it has several queries of fewer than "
               + std::to_string(least_tokens) + " tokens, or more than "
               + std::to_string(most_rows) + " queries";
    return std::string();
}

} // namespace

const form_t attention_form {"attention", may_anchor, match, build, slower};

} // namespace dnnl_dequant::ort
