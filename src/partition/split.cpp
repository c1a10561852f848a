#include "partition/split.hpp"

#include <algorithm>

#include "graph/placeholder.hpp"
#include "patterns/patterns.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;

using ops_t = std::vector<const op_record_t *>;

bool makes(const op_record_t &op, size_t tensor) {
    return std::any_of(op.outputs.begin(), op.outputs.end(),
            [tensor](const auto &output) { return output.id == tensor; });
}

bool feeds(const op_record_t &from, const op_record_t &to) {
    return std::any_of(to.inputs.begin(), to.inputs.end(),
            [&](const auto &input) { return makes(from, input.id); });
}

// Orders producers before consumers.
ops_t in_order(ops_t ops) {
    ops_t ordered;
    while (!ops.empty()) {
        const auto ready
                = std::find_if(ops.begin(), ops.end(), [&](const auto *op) {
            return std::none_of(ops.begin(), ops.end(),
                    [op](const auto *other) { return feeds(*other, *op); });
        });
        if (ready == ops.end()) return {};
        ordered.push_back(*ready);
        ops.erase(ready);
    }
    return ordered;
}

// oneDNN's partition of the op alone; null where it does not run it.
upstream_partition_t partition_of(const op_record_t &op) {
    upstream_partition_t result;
    const auto copy = make_copy(op);
    dnnl_graph_partition_t made = nullptr;
    if (copy
            && upstream::call(&api_t::dnnl_graph_partition_create_with_op,
                       &made, const_dnnl_graph_op_t(copy.get()), dnnl_cpu)
                       == dnnl_success)
        result.reset(made);
    return result;
}

bool is_supported(const upstream_partition_t &partition) {
    uint8_t supported = 0;
    upstream::call(&api_t::dnnl_graph_partition_is_supported,
            const_dnnl_graph_partition_t(partition.get()), &supported);
    return supported != 0;
}

bool is_product_of_ours(const scope_t &scope, const op_record_t &op) {
    match_t match;
    return match_at(scope, op, match).ok() && match.dequantizes
           && match.kind == partition_kind_t::matmul;
}

} // namespace

std::vector<upstream_partition_t> split_partition(const graph_record_t &graph,
        const scope_t &scope, const std::vector<size_t> &ids) {
    ops_t ops;
    size_t products = 0, of_ours = 0;
    for (const size_t id : ids) {
        const op_record_t *op = find_op(graph, id);
        if (op == nullptr || op->kind == dnnl_graph_op_softmax
                || op->kind == dnnl_graph_op_dequantize)
            return {};
        if (op->kind == dnnl_graph_op_matmul) {
            ++products;
            of_ours += is_product_of_ours(scope, *op);
        }
        ops.push_back(op);
    }
    // A partition of one op knows no mode of its graph's.
    const bool keeps_mode = graph.fpmath_mode == dnnl_fpmath_mode_strict
                            || of_ours == products;
    if (of_ours == 0 || !keeps_mode) return {};
    std::vector<upstream_partition_t> parts;
    for (const op_record_t *op : in_order(std::move(ops))) {
        parts.push_back(partition_of(*op));
        if (!parts.back() || !is_supported(parts.back())) return {};
    }
    return parts;
}

} // namespace dnnl_dequant
