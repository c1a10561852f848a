#ifndef GRAPH_LOGICAL_TENSOR_HPP
#define GRAPH_LOGICAL_TENSOR_HPP

#include <string>

#include "base/types.hpp"
#include "upstream/mapping.hpp"

namespace dnnl_dequant {

/// True when the rank and every dimension are known.
bool has_shape(const logical_tensor_t &tensor);

/// True when the rank is known.
inline bool has_rank(const logical_tensor_t &tensor) {
    return tensor.ndims >= 0 && tensor.ndims <= DNNL_MAX_NDIMS;
}

/// False for ranks that no tensor has, known or not: a struct that a user
/// filled may say any.
inline bool has_possible_rank(const logical_tensor_t &tensor) {
    return has_rank(tensor) || tensor.ndims == DNNL_GRAPH_UNKNOWN_NDIMS;
}

/// True when the strides of every dimension are known.
bool has_strides(const logical_tensor_t &tensor);

inline dims_t dims_of(const logical_tensor_t &tensor) {
    return dims_t(tensor.dims, tensor.dims + tensor.ndims);
}

inline dims_t strides_of(const logical_tensor_t &tensor) {
    return dims_t(tensor.layout.strides, tensor.layout.strides + tensor.ndims);
}

/// Elements of a tensor whose shape is known.
dim_t element_count(const logical_tensor_t &tensor);

/// Row-major strides, the last dimension densest.
dims_t dense_strides(const dims_t &dims);

/// Strides for a tensor of `dims` without gaps whose dimensions lie in memory
/// in the order that `like` has them.
dims_t dense_strides_like(const dims_t &dims, const dims_t &like);

/// Gives `tensor` the shape and strides, and layout type `strided`.
void set_layout(
        logical_tensor_t &tensor, const dims_t &dims, const dims_t &strides);

/// True for the data types whose sizes the oneDNN that we run on may not know:
/// ours, and those of oneDNN's later versions. Tensors of them are tensors of
/// bytes to oneDNN.
bool is_extension_type(data_type_t type);

/// Returns the bytes that a tensor of an extension type takes, by oneDNN's
/// rules for its own types. An unknown shape has 0. A layout that is not
/// strided has -1 (the largest value), and so have strides beyond memory.
size_t memory_size(const logical_tensor_t &tensor);

/// A logical tensor of as many bytes, of the same id and property. If they are
/// not known, the dimensions stay.
logical_tensor_t as_bytes(const logical_tensor_t &tensor);

/// "2x3" or "?" for a shape that is not known.
std::string shape_string(const logical_tensor_t &tensor);
std::string dims_string(const dims_t &dims);

} // namespace dnnl_dequant

#endif
