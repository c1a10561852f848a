// One op that quantizes or dequantizes, by itself.
#include "forms.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

bool may_anchor(const node_t &node) {
    return node.op_type.find("QuantizeLinear") != std::string::npos
           || node.op_type.find("DequantizeLinear") != std::string::npos;
}

std::string match(const node_t &anchor, claim_t &claim) {
    claim.nodes = {&anchor};
    return translation_refusal(anchor);
}

// A call costs nothing next to the work from this size on.
constexpr int64_t least_count = 1 << 16;

// ONNX Runtime has no kernels for these.
bool is_ours_alone(const node_t &node) {
    for (const value_t *value :
            {node.inputs[0], node.inputs[1], node.outputs[0]})
        if (value->type() == data_type::f4_e2m1
                || value->type() == data_type::e8m0)
            return true;
    return is_quarks(node);
}

// ONNX Runtime quantizes to 16 bits element by element. For 8 bits it is as
// fast as we are, and a call of its own kernel is cheaper.
std::string slower(const claim_t &claim, const settings_t &) {
    const node_t &node = *claim.nodes[0];
    if (node.op_type == "DynamicQuantizeLinear")
        return "by itself it is no faster here";
    if (is_ours_alone(node)) return std::string();
    const value_t &y = *node.outputs[0];
    if (node.op_type != "QuantizeLinear" || bits_of(y.type()) != 16)
        return "by itself it is no faster here";
    int64_t count = 1;
    for (const int64_t dim : y.dims)
        count *= dim;
    return y.has_rank && count >= least_count ? std::string()
                                              : "its size is small or unknown";
}

} // namespace

const form_t quantization_form {
        "quantization", may_anchor, match, build_by_nodes, slower};

} // namespace dnnl_dequant::ort
