#include "graph_file.hpp"

#include <algorithm>
#include <set>

namespace dnnl_dequant {
namespace bench {

bool graph_value_t::has_shape() const {
    return has_rank && std::all_of(dims.begin(), dims.end(), [](dim_t dim) {
        return dim >= 0;
    });
}

lt_t graph_value_t::described() const {
    if (!has_rank)
        return lt_t(id, type, DNNL_GRAPH_UNKNOWN_NDIMS,
                lt_t::layout_type::strided, property);
    if (has_shape()) return concrete();
    dims_t known = dims;
    for (dim_t &dim : known)
        if (dim < 0) dim = DNNL_GRAPH_UNKNOWN_DIM;
    return lt_t(id, type, known, lt_t::layout_type::strided, property);
}

lt_t graph_value_t::concrete() const {
    if (!has_shape()) return described();
    if (strides.size() == dims.size() && !dims.empty())
        return lt_t(id, type, dims, strides, property);
    return lt_t(id, type, dims, lt_t::layout_type::strided, property);
}

const graph_op_t *graph_file_t::op_with(size_t id) const {
    for (const auto &op : ops)
        if (op.id == id) return &op;
    return nullptr;
}

const graph_op_t *graph_file_t::producer(size_t value) const {
    for (const auto &op : ops)
        if (std::count(op.outputs.begin(), op.outputs.end(), value) != 0)
            return &op;
    return nullptr;
}

bool graph_file_t::is_output(size_t value) const {
    for (const auto &op : ops)
        if (std::count(op.inputs.begin(), op.inputs.end(), value) != 0)
            return false;
    return true;
}

} // namespace bench
} // namespace dnnl_dequant
