// A causal mask selects the tokens that come no later than their row. oneDNN's
// graphs spell it
//
//   GenIndex(scores, along rows) [-> Add | Subtract of a scalar]* -> row
//   GreaterEqual(row, GenIndex(scores, along tokens)) -> condition

#include "graph/logical_tensor.hpp"
#include "patterns/product.hpp"

namespace dnnl_dequant {

namespace {

// Indices along a dimension of scores.
bool is_index(const op_record_t *op, dim_t dim, dim_t rank,
        const std::function<bool(size_t)> &is_score) {
    if (op == nullptr || op->kind != dnnl_graph_op_gen_index) return false;
    const auto *axis = find_attribute<dims_t>(*op, dnnl_graph_op_attr_axis);
    return axis != nullptr && !axis->empty()
           && (axis->front() == dim || axis->front() == dim - rank)
           && is_score(op->inputs[0].id);
}

} // namespace

result_t match_causal_mask(const scope_t &scope, const op_record_t &compares,
        size_t scores_rank, const std::function<bool(size_t)> &is_score,
        score_mask_t &mask, std::vector<const op_record_t *> &ops) {
    mask.kind = score_mask_t::kind_t::causal;
    std::vector<const op_record_t *> found {&compares};
    const auto rank = static_cast<dim_t>(scores_rank);
    const op_record_t *rows = scope.any_producer(compares.inputs[0].id);
    while (rows != nullptr && rows->kind != dnnl_graph_op_gen_index) {
        const bool subtracts = rows->kind == dnnl_graph_op_subtract;
        if (!subtracts && rows->kind != dnnl_graph_op_add) break;
        const logical_tensor_t offset = scope.known(rows->inputs[1]);
        if (!has_shape(offset) || element_count(offset) != 1
                || type_of(offset) != data_type_t::s32)
            return refuse(*rows,
                    "it moves a causal mask; expected by an s32 of one "
                    "element");
        mask.offsets.push_back({offset.id, subtracts});
        found.push_back(rows);
        rows = scope.any_producer(rows->inputs[0].id);
    }
    const op_record_t *tokens = scope.any_producer(compares.inputs[1].id);
    if (!is_index(rows, rank - 2, rank, is_score)
            || !is_index(tokens, rank - 1, rank, is_score))
        return refuse(compares,
                "it compares something else than the indices of rows and "
                "tokens");
    found.insert(found.end(), {rows, tokens});
    ops.insert(ops.end(), found.rbegin(), found.rend());
    return {};
}

} // namespace dnnl_dequant
