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

std::string slower(const claim_t &, const settings_t &) {
    return std::string();
}

} // namespace

const form_t nbits_form {
        "MatMulNBits", may_anchor, match, build_by_nodes, slower};

} // namespace dnnl_dequant::ort
