#include "capability.hpp"

#include <algorithm>
#include <set>

#include "status.hpp"

namespace dnnl_dequant::ort {

namespace {

// A trial takes this for a dimension that only a run tells.
constexpr int64_t trial_dim = 4;

void guess_dim(const value_t *value, size_t axis, int64_t dim,
        const kernel_ports_t &ports, std::vector<dims_t> &shapes) {
    for (size_t i = 0; i < shapes.size(); ++i)
        if (ports.inputs[i] == value && axis < shapes[i].size()
                && shapes[i][axis] < 0 && dim > 0)
            shapes[i][axis] = dim;
}

// A block scale has the source's rank; its axis is shorter by the block.
void guess_by_scale(const node_t &node, const kernel_ports_t &ports,
        std::vector<dims_t> &shapes) {
    const value_t *x = node.input(0), *scale = node.input(1);
    if (x == nullptr || scale == nullptr) return;
    const int64_t rank = static_cast<int64_t>(x->dims.size());
    const int64_t axis = node.int_or("axis", 1);
    const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    const int64_t block = node.int_or("block_size", 0);
    if (block == 0 && scale->dims.size() == 1 && scale->dims[0] != 1)
        guess_dim(x, at, scale->dims[0], ports, shapes);
    for (size_t i = 0; block != 0 && i < scale->dims.size(); ++i)
        guess_dim(x, i, scale->dims[i] * (i == at ? block : 1), ports, shapes);
}

// The depth of a product's weights is that of its activation too.
void guess_by_depth(const node_t &node, const kernel_ports_t &ports,
        std::vector<dims_t> &shapes) {
    const value_t *a = node.input(0), *b = node.input(1);
    if (a == nullptr || b == nullptr) return;
    int64_t depth = node.int_or("K", 0);
    if (depth == 0 && b->dims.size() >= 2) {
        const bool transposed = node.int_or("transB", 0) != 0;
        depth = b->dims[b->dims.size() - (transposed ? 1 : 2)];
    }
    while (a->producer != nullptr
            && a->producer->op_type.find("Linear") != std::string::npos)
        a = a->producer->inputs[0];
    if (!a->dims.empty())
        guess_dim(a, a->dims.size() - 1, depth, ports, shapes);
}

std::vector<dims_t> trial_shapes(
        const claim_t &claim, const kernel_ports_t &ports) {
    std::vector<dims_t> shapes;
    for (const value_t *value : ports.inputs)
        shapes.push_back(value->dims);
    for (const node_t *node : claim.nodes)
        if (node->op_type.find("Linear") != std::string::npos)
            guess_by_scale(*node, ports, shapes);
        else if (node->op_type.find("MatMul") != std::string::npos
                 || node->is("Gemm"))
            guess_by_depth(*node, ports, shapes);
    for (dims_t &dims : shapes)
        for (int64_t &dim : dims)
            if (dim < 0) dim = trial_dim;
    return shapes;
}

// A claim has to compile, so the graph is built once to see.
std::string trial(const claim_t &claim, const settings_t &settings) {
    const kernel_ports_t ports = ports_of(claim);
    owned_t owned;
    try {
        builder_t builder(ports, trial_shapes(claim, ports), owned);
        claim.form->build(claim, settings, builder);
        return builder.refusal();
    } catch (const failure_t &error) {
        return error.what();
    } catch (const dnnl::error &error) {
        return "oneDNN refuses the graph: " + sentence_of(error);
    }
}

std::string refusal(const form_t &form, const node_t &node,
        const settings_t &settings, claim_t &claim) {
    claim.form = &form;
    std::string why = form.match(node, claim);
    if (!why.empty()) return why;
    sort_nodes(claim);
    for (const node_t *member : claim.nodes)
        if (!member->is_free)
            return member->title() + " belongs to another provider";
    if (settings.take == take_t::faster) why = form.slower(claim, settings);
    if (!why.empty()) return why;
    if (!is_convex(claim)) return "another path joins its first and last node";
    return trial(claim, settings);
}

// A malformed node is left to ONNX Runtime, which has its own sentence for it.
std::string safe_refusal(const form_t &form, const node_t &node,
        const settings_t &settings, claim_t &claim) {
    try {
        return refusal(form, node, settings, claim);
    } catch (const std::exception &error) {
        return error.what();
    }
}

} // namespace

bool is_convex(const claim_t &claim) {
    const std::set<const node_t *> inside(
            claim.nodes.begin(), claim.nodes.end());
    const size_t last = claim.nodes.back()->index;
    std::set<const node_t *> seen;
    std::vector<const node_t *> queue(claim.nodes.begin(), claim.nodes.end());
    while (!queue.empty()) {
        const node_t *node = queue.back();
        queue.pop_back();
        const bool is_inside = inside.count(node) != 0;
        for (const value_t *value : node->outputs) {
            if (value == nullptr) continue;
            for (const node_t *user : value->consumers) {
                const bool comes_back = inside.count(user) != 0;
                if (comes_back && !is_inside) return false;
                // Nothing behind the last node leads back.
                if (!comes_back && user->index < last
                        && seen.insert(user).second)
                    queue.push_back(user);
            }
        }
    }
    return true;
}

std::vector<claim_t> find_claims(const model_t &model,
        const settings_t &settings, const report_t &report) {
    std::vector<claim_t> claims;
    std::set<const node_t *> taken;
    std::map<const node_t *, std::string> reasons;
    for (const form_t &form : forms()) {
        for (const node_t &node : model.nodes()) {
            if (taken.count(&node) != 0 || !form.may_anchor(node)) continue;
            claim_t claim;
            std::string why = safe_refusal(form, node, settings, claim);
            for (const node_t *member : claim.nodes)
                if (why.empty() && taken.count(member) != 0)
                    why = member->title() + " belongs to another product";
            if (why.empty()) {
                taken.insert(claim.nodes.begin(), claim.nodes.end());
                claims.push_back(std::move(claim));
            } else {
                reasons.emplace(&node, why);
            }
        }
    }
    for (const auto &[node, why] : reasons)
        if (taken.count(node) == 0) report(*node, why);
    return claims;
}

} // namespace dnnl_dequant::ort
