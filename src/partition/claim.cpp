#include "partition/claim.hpp"

#include "base/log.hpp"
#include "graph/op_schema.hpp"
#include "patterns/patterns.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;

// The partition's only op, or null where it has several or one that we did
// not see.
const op_record_t *single_op(
        const graph_record_t &graph, const_dnnl_graph_partition_t upstream) {
    size_t count = 0, id = 0;
    if (upstream::call(
                &api_t::dnnl_graph_partition_get_op_num, upstream, &count)
                    != dnnl_success
            || count != 1)
        return nullptr;
    // The C API takes this handle without const although it only reads.
    const auto handle = const_cast<dnnl_graph_partition_t>(upstream);
    if (upstream::call(&api_t::dnnl_graph_partition_get_ops, handle, count, &id)
            != dnnl_success)
        return nullptr;
    return find_op(graph, id);
}

void destroy_upstream(dnnl_graph_partition_t partition) {
    upstream::call(&api_t::dnnl_graph_partition_destroy, partition);
}

} // namespace

std::shared_ptr<const partition_t> claim(
        const graph_record_t &graph, dnnl_graph_partition_t upstream) {
    if (graph.engine_kind != dnnl_cpu) return nullptr;
    const op_record_t *op = single_op(graph, upstream);
    if (op == nullptr || find_schema(op->kind) == nullptr) return nullptr;

    match_t match;
    if (const result_t matched = match_any(graph, *op, match); !matched.ok()) {
        log_refusal(log_dispatch, "claim", matched.reason);
        return nullptr;
    }
    auto result = std::make_shared<partition_t>(make_partition(graph, match));
    if (upstream::call(&api_t::dnnl_graph_partition_get_id,
                const_dnnl_graph_partition_t(upstream), &result->id)
            != dnnl_success)
        return nullptr;
    result->upstream.reset(upstream, destroy_upstream);
    return result;
}

} // namespace dnnl_dequant
