#include "graph/logical_tensor.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/saturated.hpp"

namespace dnnl_dequant {

bool has_shape(const logical_tensor_t &tensor) {
    return has_rank(tensor)
           && std::none_of(tensor.dims, tensor.dims + tensor.ndims,
                   [](dim_t dim) { return dim == DNNL_GRAPH_UNKNOWN_DIM; });
}

bool has_strides(const logical_tensor_t &tensor) {
    if (tensor.layout_type != dnnl_graph_layout_type_strided
            || !has_rank(tensor))
        return false;
    const dim_t *strides = tensor.layout.strides;
    return std::none_of(strides, strides + tensor.ndims,
            [](dim_t stride) { return stride == DNNL_GRAPH_UNKNOWN_DIM; });
}

dim_t element_count(const logical_tensor_t &tensor) {
    return std::accumulate(tensor.dims, tensor.dims + tensor.ndims, dim_t(1),
            saturated_product);
}

dims_t dense_strides(const dims_t &dims) {
    dims_t strides(dims.size());
    dim_t stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
        strides[d] = stride;
        stride = saturated_product(stride, std::max<dim_t>(dims[d], 1));
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
        stride = saturated_product(stride, std::max<dim_t>(dims[order[i]], 1));
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

bool is_extension_type(data_type_t type) {
    constexpr int first_of_ours = 0x7000;
    return is_known(type)
           && (static_cast<int>(type) >= first_of_ours
                   || type == data_type_t::f4_e2m1 // 3.7 counts bytes
                   || type == data_type_t::s64);   // since 3.12
}

static constexpr auto unknown_size = static_cast<size_t>(-1);

size_t memory_size(const logical_tensor_t &tensor) {
    if (!has_shape(tensor)) return 0;
    if (tensor.ndims > 0
            && tensor.layout_type != dnnl_graph_layout_type_strided)
        return unknown_size;
    dim_t elements = 1;
    for (int d = 0; d < tensor.ndims; ++d) {
        if (tensor.dims[d] == 0) return 0;
        elements = std::max(elements,
                saturated_product(tensor.dims[d], tensor.layout.strides[d]));
    }
    constexpr dim_t most_bits = std::numeric_limits<dim_t>::max() - 7;
    if (saturated_product(elements, bits_of(type_of(tensor))) > most_bits)
        return unknown_size;
    return static_cast<size_t>(bytes_of(type_of(tensor), elements));
}

logical_tensor_t as_bytes(const logical_tensor_t &tensor) {
    logical_tensor_t bytes = tensor;
    bytes.data_type = dnnl_u8;
    const size_t size = memory_size(tensor);
    if (has_shape(tensor)
            && tensor.layout_type == dnnl_graph_layout_type_strided
            && size != unknown_size)
        set_layout(bytes, {static_cast<dim_t>(size)}, {1});
    return bytes;
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
