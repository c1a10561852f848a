#ifndef GRAPH_INFERRED_SHAPES_HPP
#define GRAPH_INFERRED_SHAPES_HPP

#include <map>
#include <vector>

#include "base/types.hpp"
#include "graph/op_record.hpp"

namespace dnnl_dequant {

/// The shapes of values whose shape the user left to oneDNN, as far as they
/// follow from those that are named and from what the ops do.
class inferred_shapes_t {
public:
    explicit inferred_shapes_t(const std::vector<op_record_t> &ops);

    /// `named`; where it has no shape and one is inferred, with that one and
    /// dense.
    logical_tensor_t complete(const logical_tensor_t &named) const;

private:
    // Shapes of tensors that some op names with a shape, and inferred shapes.
    std::map<size_t, dims_t> shapes_;

    /// Null where it is not known.
    const dims_t *find(const logical_tensor_t &tensor) const;
    bool infer(const op_record_t &op, dims_t &shape) const;
    bool infer_found_scales(const op_record_t &op, dims_t &shape) const;
    bool infer_broadcast(const op_record_t &op, dims_t &shape) const;
    bool infer_matmul(const op_record_t &op, dims_t &shape) const;
};

} // namespace dnnl_dequant

#endif
