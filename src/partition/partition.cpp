#include "partition/partition.hpp"

#include <algorithm>

#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

bool contains(const std::vector<logical_tensor_t> &tensors, size_t id) {
    return std::any_of(tensors.begin(), tensors.end(),
            [id](const logical_tensor_t &tensor) { return tensor.id == id; });
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

    // An interior value has one consumer and is no output of the graph, so a
    // value that some op inside produces and another consumes is no port.
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
        if (!contains(consumed, tensor.id)) result.outputs.push_back(tensor);
    return result;
}

} // namespace dnnl_dequant
