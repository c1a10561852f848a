// Attention over keys or values that are dequantized, such as a model's cache:
//     keys: DequantizeLinear -> {Transpose, Reshape, Cast, Unsqueeze, Expand}*
//     scores: MatMul(query, keys) -> {Mul, Div, Add, Where, Tanh, Cast}*
//     MatMul(Softmax(scores) [-> Cast], values)
// All of it is one partition of oneDNN's graph.
#include <optional>

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

bool dequantizes(const node_t &node) {
    return node.op_type.find("DequantizeLinear") != std::string::npos;
}

bool moves(const node_t &node) {
    return node.is("Transpose") || node.is("Reshape") || node.is("Cast")
           || node.is("Unsqueeze") || node.is("Expand");
}

// What a quantize or dequantize says of its numbers. The axis is that of the
// scales, -1 where there is one for all.
struct parameters_t {
    const value_t *scale, *zero_point;
    type_t type;
    int64_t axis;

    bool operator==(const parameters_t &other) const {
        return scale == other.scale && zero_point == other.zero_point
               && type == other.type && axis == other.axis;
    }
};

// Nothing where parameters do not follow an axis, or the type is wide.
std::optional<parameters_t> parameters_of(const node_t &node) {
    const bool is_quantize = node.op_type == "QuantizeLinear";
    if (!is_quantize && node.op_type != "DequantizeLinear") return std::nullopt;
    const value_t *scale = node.input(1);
    const value_t &x = *node.inputs[0];
    const value_t &integers = is_quantize ? *node.outputs[0] : x;
    if (scale == nullptr || !scale->has_rank || !x.has_rank
            || node.int_or("block_size", 0) != 0
            || bits_of(integers.type()) > 8)
        return std::nullopt;
    int64_t axis = -1;
    if (count_of(scale->dims) != 1) {
        axis = node.int_or("axis", 1);
        if (axis < 0) axis += static_cast<int64_t>(x.dims.size());
    }
    return parameters_t {scale, node.input(2), integers.type(), axis};
}

// Those in front of an op that moves elements.
std::optional<parameters_t> moved_back(
        const node_t &node, parameters_t parameters) {
    if (parameters.axis == -1 || node.is("Cast")) return parameters;
    const auto perm = node.int_lists.find("perm");
    if (!node.is("Transpose") || perm == node.int_lists.end()
            || parameters.axis >= static_cast<int64_t>(perm->second.size()))
        return std::nullopt;
    parameters.axis = perm->second[static_cast<size_t>(parameters.axis)];
    return parameters;
}

using wanted_t = std::optional<parameters_t>;

// Appends what makes the value, from a dequantize on: one with the parameters
// that are wanted, if any are. False where there is none.
bool add_cache(const value_t &value, const wanted_t &wanted,
        std::vector<const node_t *> &nodes);

// ONNX Runtime puts QuantizeLinear and DequantizeLinear, with the parameters of
// the first DequantizeLinear, behind ops that move elements. Such a pair
// changes no number of 8 bits or less: it becomes a part of the claim, and no
// op.
void add_before_pair(
        const node_t &dequantize, std::vector<const node_t *> &nodes) {
    const value_t &integers = *dequantize.inputs[0];
    const node_t *quantize = integers.producer;
    if (quantize == nullptr || quantize->op_type != "QuantizeLinear"
            || only_use(integers) == nullptr)
        return;
    const wanted_t parameters = parameters_of(dequantize);
    if (!parameters || !(parameters == parameters_of(*quantize))) return;
    const size_t before = nodes.size();
    nodes.push_back(quantize);
    if (!add_cache(*quantize->inputs[0], parameters, nodes))
        nodes.resize(before);
}

bool add_cache(const value_t &value, const wanted_t &wanted,
        std::vector<const node_t *> &nodes) {
    const node_t *node = value.producer;
    if (node == nullptr || only_use(value) == nullptr) return false;
    if (dequantizes(*node)) {
        if (!translation_refusal(*node).empty()) return false;
        if (wanted && !(wanted == parameters_of(*node))) return false;
        nodes.push_back(node);
        add_before_pair(*node, nodes);
        return true;
    }
    if (!moves(*node) || !cache_move_refusal(*node).empty()) return false;
    const wanted_t before = wanted ? moved_back(*node, *wanted) : wanted;
    if (wanted && !before) return false;
    const size_t count = nodes.size();
    nodes.push_back(node);
    if (add_cache(*node->inputs[0], before, nodes)) return true;
    nodes.resize(count);
    return false;
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
    const bool has_keys
            = add_cache(*scores->inputs[1], std::nullopt, claim.nodes);
    const bool has_values
            = add_cache(*anchor.inputs[1], std::nullopt, claim.nodes);
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

std::string slower(const claim_t &, const settings_t &) {
    return std::string();
}

} // namespace

const form_t attention_form {"attention", may_anchor, match, build, slower};

} // namespace dnnl_dequant::ort
