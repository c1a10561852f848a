// The forms of graph that the provider takes, best first.
#ifndef DNNL_DEQUANT_ORT_FORMS_HPP
#define DNNL_DEQUANT_ORT_FORMS_HPP

#include <string>
#include <vector>

#include "builder.hpp"
#include "model.hpp"
#include "settings.hpp"

namespace dnnl_dequant::ort {

struct form_t;

// Nodes that become one, in topological order.
struct claim_t {
    const form_t *form = nullptr;
    std::vector<const node_t *> nodes;
};

struct form_t {
    const char *name;
    // Whether a claim of this form may begin at the node.
    bool (*may_anchor)(const node_t &node);
    // Fills the claim's nodes; otherwise says why not.
    std::string (*match)(const node_t &anchor, claim_t &claim);
    void (*build)(const claim_t &claim, const settings_t &settings,
            builder_t &builder);
    // Why ONNX Runtime's own kernels may be faster; empty where they are not.
    // The figures are in README.md.
    std::string (*slower)(const claim_t &claim, const settings_t &settings);
};

const std::vector<form_t> &forms();

// form_*.cpp
extern const form_t attention_form;
extern const form_t integer_product_form;
extern const form_t nbits_form;
extern const form_t product_form;
extern const form_t quantization_form;

// The node that alone uses the value, or null.
const node_t *only_use(const value_t &value);
// Appends what may follow a product element by element.
void append_elementwise(claim_t &claim, const value_t &product);
// Appends what dequantizes keys or values; false, and nothing, where they are
// not dequantized.
bool append_cache(const value_t &value, claim_t &claim);
void sort_nodes(claim_t &claim);
// Translates node by node.
void build_by_nodes(
        const claim_t &claim, const settings_t &settings, builder_t &builder);

// Inputs and outputs of a claim: constants too, each once.
kernel_ports_t ports_of(const claim_t &claim);

// A node of the provider's costs half a microsecond more than one of ONNX
// Runtime's, besides what it computes. So many weights bring it back (README:
// measured), by 4-bit weights as floats and by products of integers.
constexpr int64_t least_float_weights = 256 * 256;
constexpr int64_t least_integer_weights = 384 * 384;

// Why a product of fewer weights than `least` is not faster than ONNX
// Runtime's; empty where it has as many. `activation`: its dimensions, of which
// the unknown ones are not positive.
std::string small_product(
        const dims_t &activation, int64_t weights, int64_t least);

} // namespace dnnl_dequant::ort

#endif
