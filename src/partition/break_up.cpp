#include "partition/break_up.hpp"

#include <algorithm>
#include <set>

#include "graph/twin.hpp"
#include "partition/graph_scope.hpp"
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

// Producers before consumers.
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

class part_maker_t {
public:
    part_maker_t(const graph_record_t &graph, ops_t ops)
        : graph_(graph)
        , scope_(graph)
        , ops_(std::move(ops)) {
        for (const op_record_t *op : ops_)
            scope_.let_in(op->id);
    }

    std::vector<listed_t> run() {
        bool multiplies = false;
        std::vector<listed_t> parts; // the last one first
        for (auto root = ops_.rbegin(); root != ops_.rend(); ++root) {
            if (scope_.is_taken(**root)) continue;
            listed_t part;
            match_t match;
            const bool ours
                    = match_at(scope_, **root, match).ok() && match.dequantizes;
            if (!make_part(**root, ours ? &match : nullptr, part)) return {};
            multiplies |= ours && match.kind == partition_kind_t::matmul;
            parts.push_back(std::move(part));
        }
        if (!multiplies) return {};
        std::reverse(parts.begin(), parts.end());
        return parts;
    }

private:
    bool make_part(
            const op_record_t &root, const match_t *match, listed_t &part) {
        part.upstream = partition_of(root);
        if (!part.upstream) return false;
        if (match == nullptr) return is_supported(part.upstream);
        auto claim
                = std::make_shared<partition_t>(make_partition(graph_, *match));
        if (upstream::call(&api_t::dnnl_graph_partition_get_id,
                    const_dnnl_graph_partition_t(part.upstream.get()),
                    &claim->id)
                != dnnl_success)
            return false;
        scope_.take(match->ops);
        part.upstream.reset();
        part.ours = std::move(claim);
        return true;
    }

    const graph_record_t &graph_;
    graph_scope_t scope_;
    const ops_t ops_;
};

} // namespace

std::vector<listed_t> break_up(
        const graph_record_t &graph, const std::vector<size_t> &ids) {
    // A partition of one op knows no mode of its graph's.
    if (graph.fpmath_mode != dnnl_fpmath_mode_strict) return {};
    ops_t ops;
    int products = 0, dequantizes = 0;
    for (const size_t id : ids) {
        const op_record_t *op = find_op(graph, id);
        if (op == nullptr || op->kind == dnnl_graph_op_softmax) return {};
        products += op->kind == dnnl_graph_op_matmul;
        dequantizes += op->kind == dnnl_graph_op_dynamic_dequantize;
        ops.push_back(op);
    }
    if (products == 0 || dequantizes == 0) return {};
    return part_maker_t(graph, in_order(std::move(ops))).run();
}

} // namespace dnnl_dequant
