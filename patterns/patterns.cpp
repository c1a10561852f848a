#include "patterns/patterns.hpp"

#include <algorithm>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "patterns/quantize_body.hpp"

namespace dnnl_dequant {

#define X(kind, name)                                                    \
    result_t compose_##name(const scope_t &scope, const op_record_t &op, \
            composition_t &composition);
#include "patterns/patterns.def"
#undef X

namespace {

// Ops between the first and the last of a partition, at most; bounds the work
// where thousands of ops follow each other.
constexpr int max_depth = 12;

pattern_t find_pattern(int kind) {
    switch (kind) {
#define X(kind, name) \
    case kind: return compose_##name;
#include "patterns/patterns.def"
#undef X
    default: return nullptr;
    }
}

// A selected partition has to compile. dst's strides do not decide whether the
// chain makes a problem.
result_t check_problem(const op_record_t &root, const chain_t &chain) {
    if (!chain.has_shape()) return {};
    problem_t problem;
    const result_t result = chain.finish(dense_strides(chain.shape()), problem);
    return result.ok() ? result : refuse(root, result.reason, result.status);
}

partition_kind_t kind_of(const composition_t &composition) {
    if (!composition.product) return partition_kind_t::chain;
    return composition.product->attention ? partition_kind_t::attention
                                          : partition_kind_t::matmul;
}

bool takes_in_others(const composition_t &composition, const op_record_t &op) {
    return std::any_of(composition.ops.begin(), composition.ops.end(),
            [&](const op_record_t *other) { return other != &op; });
}

// Its pattern checks all that verify() would: scales are attributes.
bool is_static(const op_record_t &op) {
    return op.kind == dnnl_graph_op_quantize
           || op.kind == dnnl_graph_op_dequantize;
}

bool match_body(
        const scope_t &scope, const op_record_t &root, quantize_body_t &body) {
    const result_t result = match_quantize_body(scope, root, body);
    if (!result.ok() && !result.reason.empty())
        scope.log_not_fused(result.reason);
    return result.ok();
}

} // namespace

result_t compose(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    const pattern_t pattern = find_pattern(op.kind);
    if (pattern == nullptr)
        return refuse(op, "not an op that a partition of ours may hold");
    if (composition.depth > max_depth)
        return refuse(op, "the chain of ops is too long");
    return pattern(scope, op, composition);
}

void compose_input(const scope_t &scope, const op_record_t &op, size_t index,
        composition_t &composition, int uses) {
    const op_record_t *producer = scope.producer(op.inputs[index].id, uses);
    if (producer != nullptr) {
        composition_t inner;
        inner.depth = composition.depth + 1;
        const result_t result = compose(scope, *producer, inner);
        if (result.ok()) {
            composition = std::move(inner);
            return;
        }
        if (inner.dequantizes) scope.log_not_fused(result.reason);
    }
    compose_outside(scope, op, index, composition);
}

bool compose_dequantized(const scope_t &scope, const op_record_t &op,
        size_t index, composition_t &composition) {
    composition_t inner;
    inner.depth = composition.depth;
    compose_input(scope, op, index, inner);
    if (!inner.dequantizes) return false;
    composition = std::move(inner);
    return true;
}

result_t match_at(
        const scope_t &scope, const op_record_t &root, match_t &match) {
    if (quantize_body_t body; match_body(scope, root, body)) {
        match = {partition_kind_t::quantize, body.ops, true};
        return {};
    }
    composition_t composition;
    result_t composed = compose(scope, root, composition);
    if (composed.ok()) composed = check_problem(root, composition.chain);
    // oneDNN may choose the layout of a value of its own, which only it reads.
    const bool is_alone = (is_quantize(root) || is_static(root))
                          && !composition.dequantizes;
    if (composed.ok() && composition.ops.size() > 1 && !is_alone) {
        match = {
                kind_of(composition), composition.ops, composition.dequantizes};
        return {};
    }
    if (composed.ok() && is_static(root)) {
        match = {partition_kind_t::chain, {&root}, true, true};
        return {};
    }
    const bool quantizes = is_quantize(root) || is_range_quantize(root);
    const bool dequantizes
            = is_range_quantize(root)
              || root.kind == dnnl_graph_op_dynamic_dequantize
              || is_linear(root)
              || (quantizes && (composed.ok() || composition.dequantizes));
    // A single op is selected whatever its shapes; compile tells if they are
    // wrong.
    const result_t verified = verify(root);
    if (!verified.ok()) {
        match.dequantizes = dequantizes || composition.dequantizes;
        return composed.ok() ? verified : composed;
    }
    // Nor can any other of a copy that is no kernel's.
    if (!dequantizes && !quantizes && has_shape(scope.known(root.inputs[0]))
            && composed.status == status_t::unimplemented) {
        match.dequantizes = true;
        return composed;
    }
    if (!composed.ok() && takes_in_others(composition, root))
        scope.log_not_fused(composed.reason);
    match = {quantizes     ? partition_kind_t::quantize
             : dequantizes ? partition_kind_t::dequantize
                           : partition_kind_t::chain,
            {&root}, dequantizes,
            quantizes && composed.ok() && !composition.dequantizes};
    return {};
}

} // namespace dnnl_dequant
