#include "partition/partition.hpp"

#include <algorithm>

#include "graph/identity.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

bool contains(const std::vector<logical_tensor_t> &tensors, size_t id) {
    return std::any_of(tensors.begin(), tensors.end(),
            [id](const logical_tensor_t &tensor) { return tensor.id == id; });
}

bool is_used_outside(
        const graph_record_t &graph, const match_t &match, size_t tensor) {
    return std::any_of(
            graph.ops.begin(), graph.ops.end(), [&](const op_record_t &op) {
        const bool inside = std::any_of(match.ops.begin(), match.ops.end(),
                [&](const op_record_t *other) { return other->id == op.id; });
        return !inside && contains(op.inputs, tensor);
    });
}

// The ports follow from the ops.
std::string identity_of(const partition_t &partition) {
    identity_t identity;
    identity.add(partition.kind);
    identity.add(partition.engine_kind);
    identity.add(partition.fpmath_mode);
    identity.add(partition.fpmath_apply_to_int);
    identity.add(partition.ops);
    return identity.take();
}

} // namespace

void upstream_destroyer_t::operator()(dnnl_graph_partition_t partition) const {
    upstream::call(&upstream::api_t::dnnl_graph_partition_destroy, partition);
}

partition_t make_partition(const graph_record_t &graph, const match_t &match) {
    partition_t result;
    result.kind = match.kind;
    result.engine_kind = graph.engine_kind;
    result.fpmath_mode = graph.fpmath_mode;
    result.fpmath_apply_to_int = graph.fpmath_apply_to_int;
    for (const op_record_t *op : match.ops)
        result.ops.push_back(*op);

    // A value that some op inside produces and another consumes is no port,
    // unless one outside consumes it too.
    std::vector<logical_tensor_t> produced, consumed;
    for (const op_record_t &op : result.ops) {
        produced.insert(produced.end(), op.outputs.begin(), op.outputs.end());
        consumed.insert(consumed.end(), op.inputs.begin(), op.inputs.end());
    }
    for (const logical_tensor_t &tensor : consumed)
        if (!contains(produced, tensor.id)
                && !contains(result.inputs, tensor.id))
            result.inputs.push_back(tensor);
    for (const logical_tensor_t &tensor : produced)
        if (!contains(consumed, tensor.id)
                || is_used_outside(graph, match, tensor.id))
            result.outputs.push_back(tensor);
    result.identity = identity_of(result);
    return result;
}

std::shared_ptr<const partition_t> make_compound(const graph_record_t &graph,
        std::vector<std::shared_ptr<const partition_t>> parts,
        upstream_partition_t whole, size_t ops_of_whole) {
    match_t match;
    match.kind = partition_kind_t::compound;
    for (const auto &part : parts)
        for (const op_record_t &op : part->ops)
            match.ops.push_back(&op);
    auto result = std::make_shared<partition_t>(make_partition(graph, match));
    result->id = parts.front()->id;
    result->parts = std::move(parts);
    if (result->ops.size() == ops_of_whole)
        result->upstream.push_back(std::move(whole));
    return result;
}

} // namespace dnnl_dequant
