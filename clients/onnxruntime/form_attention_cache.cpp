// The nodes that make integer keys or values: a dequantize and ops that move
// elements.
#include <optional>

#include "forms.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

bool dequantizes(const node_t &node) {
    return node.op_type.find("DequantizeLinear") != std::string::npos;
}

bool moves(const node_t &node) {
    return node.is("Transpose") || node.is("Reshape") || node.is("Cast")
           || node.is("Unsqueeze") || node.is("Expand");
}

// The parameters of a quantize or dequantize. The axis is that of the scales,
// -1 if there is one for all.
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

// Returns the parameters in front of an op that moves elements.
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

} // namespace

bool append_cache(const value_t &value, claim_t &claim) {
    return add_cache(value, std::nullopt, claim.nodes);
}

} // namespace dnnl_dequant::ort
