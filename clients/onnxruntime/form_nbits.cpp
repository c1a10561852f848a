// com.microsoft MatMulNBits, and what follows it element by element.
#include "forms.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

bool may_anchor(const node_t &node) {
    return node.is("MatMulNBits", "com.microsoft");
}

std::string match(const node_t &anchor, claim_t &claim) {
    const std::string why = translation_refusal(anchor);
    if (!why.empty()) return why;
    claim.nodes = {&anchor};
    append_elementwise(claim, *anchor.outputs[0]);
    return std::string();
}

// Rows of zero points that end within a byte are unpacked one by one.
constexpr int64_t least_weights_of_padded_zps = 800 * 800;

bool has_padded_zps(const node_t &node) {
    const int64_t block = node.int_or("block_size", 0);
    if (node.input(3) == nullptr || is_float(node.inputs[3]->type())
            || block <= 0)
        return false;
    return (node.int_or("K", 0) + block - 1) / block % 2 != 0;
}

// ONNX Runtime is slow where weights of 2 or 8 bits are multiplied as floats.
std::string slower(const claim_t &claim, const settings_t &settings) {
    const node_t &node = *claim.nodes.front();
    const int64_t level = settings.accuracy_level >= 0
                                  ? settings.accuracy_level
                                  : node.int_or("accuracy_level", 0);
    const bool as_floats = level != 4;
    if (as_floats && node.int_or("bits", 4) != 4) return std::string();
    return small_product(node.inputs[0]->dims,
            node.int_or("K", 0) * node.int_or("N", 0),
            !as_floats             ? least_integer_weights
            : has_padded_zps(node) ? least_weights_of_padded_zps
                                   : least_float_weights);
}

} // namespace

const form_t nbits_form {
        "MatMulNBits", may_anchor, match, build_by_nodes, slower};

} // namespace dnnl_dequant::ort
