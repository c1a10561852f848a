#include "graph/logical_tensor.hpp"

#include <algorithm>
#include <numeric>

namespace dnnl_dequant {

bool has_shape(const logical_tensor_t &tensor) {
    return has_rank(tensor) &&
           std::none_of(tensor.dims, tensor.dims + tensor.ndims,
                   [](dim_t dim) { return dim == DNNL_GRAPH_UNKNOWN_DIM; });
}

bool has_strides(const logical_tensor_t &tensor) {
    if (tensor.layout_type != dnnl_graph_layout_type_strided ||
            !has_rank(tensor))
        return false;
    const dim_t *strides = tensor.layout.strides;
    return std::none_of(strides, strides + tensor.ndims,
            [](dim_t stride) { return stride == DNNL_GRAPH_UNKNOWN_DIM; });
}

dim_t element_count(const logical_tensor_t &tensor) {
    return std::accumulate(tensor.dims, tensor.dims + tensor.ndims, dim_t(1),
            [](dim_t product, dim_t dim) { return product * dim; });
}

dims_t dense_strides(const dims_t &dims) {
    dims_t strides(dims.size());
    dim_t stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
        strides[d] = stride;
        stride *= std::max<dim_t>(dims[d], 1);
    }
    return strides;
}

dims_t dense_strides_like(const dims_t &dims, const dims_t &like) {
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
            [&like](size_t a, size_t b) { return like[a] > like[b]; });
    dims_t strides(dims.size());
    dim_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = stride;
        stride *= std::max<dim_t>(dims[order[i]], 1);
    }
    return strides;
}

void set_layout(
        logical_tensor_t &tensor, const dims_t &dims, const dims_t &strides) {
    tensor.ndims = static_cast<int>(dims.size());
    tensor.layout_type = dnnl_graph_layout_type_strided;
    std::copy(dims.begin(), dims.end(), tensor.dims);
    std::copy(strides.begin(), strides.end(), tensor.layout.strides);
}

std::string dims_string(const dims_t &dims) {
    if (dims.empty()) return "scalar";
    std::string result;
    for (const dim_t dim : dims) {
        if (!result.empty()) result += 'x';
        result += dim == DNNL_GRAPH_UNKNOWN_DIM ? "?" : std::to_string(dim);
    }
    return result;
}

std::string shape_string(const logical_tensor_t &tensor) {
    return has_rank(tensor) ? dims_string(dims_of(tensor)) : "?";
}

} // namespace dnnl_dequant
