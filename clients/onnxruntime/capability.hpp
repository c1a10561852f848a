// Chooses the nodes of a graph that the provider takes.
#ifndef DNNL_DEQUANT_ORT_CAPABILITY_HPP
#define DNNL_DEQUANT_ORT_CAPABILITY_HPP

#include <functional>
#include <string>
#include <vector>

#include "forms.hpp"

namespace dnnl_dequant::ort {

// Told of every node that some form might have taken, and why it did not.
using report_t = std::function<void(const node_t &, const std::string &)>;

std::vector<claim_t> find_claims(const model_t &model,
        const settings_t &settings, const report_t &report);

// No path leaves the nodes and comes back. ONNX Runtime drops all claims of a
// provider of which one is not so.
bool is_convex(const claim_t &claim);

} // namespace dnnl_dequant::ort

#endif
