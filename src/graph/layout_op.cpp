#include "graph/layout_op.hpp"

#include <limits>
#include <numeric>

#include "base/text.hpp"
#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

result_t refuse(
        status_t status, const op_record_t &op, const std::string &why) {
    return {status, describe(op) + ": " + why};
}

// Saturates, since the numbers of an attribute may be any at all.
dim_t times(dim_t a, dim_t b) {
    constexpr dim_t most = std::numeric_limits<dim_t>::max();
    return b != 0 && a > most / b ? most : a * b;
}

dim_t product(const dims_t &dims) {
    return std::accumulate(dims.begin(), dims.end(), dim_t {1}, times);
}

// Gives the one dimension of -1 what is left.
// @returns whether they hold `count` elements then.
bool complete(dims_t &dims, dim_t count) {
    dim_t told = 1, *open = nullptr;
    for (dim_t &dim : dims) {
        if (dim == -1 && open == nullptr) open = &dim;
        else if (dim < 0) return false;
        else told = times(told, dim);
    }
    if (open == nullptr) return told == count;
    *open = told == 0 ? 0 : count / told;
    return *open * told == count;
}

} // namespace

result_t transpose_order(
        const op_record_t &op, size_t rank, std::vector<size_t> &order) {
    const auto *entries = find_attribute<dims_t>(op, dnnl_graph_op_attr_order);
    if (entries == nullptr)
        return refuse(status_t::invalid_graph_op, op, "order is missing");
    if (entries->size() != rank)
        return refuse(status_t::invalid_shape, op,
                text("order has ", entries->size(), " entries; expected ", rank,
                        " (the rank of src)"));
    std::vector<bool> seen(rank, false);
    order.clear();
    for (const dim_t entry : *entries) {
        const dim_t d = entry < 0 ? entry + static_cast<dim_t>(rank) : entry;
        const auto at = static_cast<size_t>(d);
        if (d < 0 || at >= rank || seen[at])
            return refuse(status_t::invalid_graph_op, op,
                    text("order is ", dims_string(*entries),
                            "; expected each dimension once"));
        seen[at] = true;
        order.push_back(at);
    }
    return {};
}

result_t reshaped_dims(
        const op_record_t &op, const dims_t &src_dims, dims_t &dims) {
    const auto *shape = find_attribute<dims_t>(op, dnnl_graph_op_attr_shape);
    if (shape == nullptr)
        return refuse(status_t::invalid_graph_op, op, "shape is missing");
    const auto *special = find_attribute<std::vector<uint8_t>>(
            op, dnnl_graph_op_attr_special_zero);
    const bool copies = special && !special->empty() && special->front();
    dims = *shape;
    for (size_t d = 0; d < dims.size(); ++d)
        if (dims[d] == 0 && copies && d < src_dims.size())
            dims[d] = src_dims[d];
    const dim_t count = product(src_dims);
    if (!complete(dims, count))
        return refuse(status_t::invalid_shape, op,
                text("shape is ", dims_string(*shape), "; expected one of ",
                        count, " elements, as src ", dims_string(src_dims)));
    return {};
}

result_t check_layout_op(const op_record_t &op) {
    if (op.inputs[0].data_type != op.outputs[0].data_type)
        return refuse(status_t::invalid_graph_op, op,
                text("dst is of type ", to_string(type_of(op.outputs[0])),
                        "; expected src's type, ",
                        to_string(type_of(op.inputs[0]))));
    std::vector<size_t> order;
    dims_t dims;
    if (op.kind == dnnl_graph_op_static_transpose && has_rank(op.inputs[0]))
        return transpose_order(
                op, static_cast<size_t>(op.inputs[0].ndims), order);
    if (op.kind == dnnl_graph_op_static_reshape && has_shape(op.inputs[0]))
        return reshaped_dims(op, dims_of(op.inputs[0]), dims);
    return {};
}

} // namespace dnnl_dequant
