#ifndef GRAPH_RECORDS_HPP
#define GRAPH_RECORDS_HPP

#include <array>
#include <optional>

#include "graph/graph_record.hpp"
#include "graph/op_record.hpp"
#include "graph/side_map.hpp"

namespace dnnl_dequant {

/// A tensor of which oneDNN does not know all.
struct tensor_record_t {
    /// The user's logical tensor, for a tensor of an extension type. oneDNN
    /// sees a tensor of bytes.
    std::optional<logical_tensor_t> logical_tensor;
    /// The value of a host scalar: oneDNN hands out no data handle for it.
    std::optional<std::array<unsigned char, 8>> scalar;
};

/// The records of the process, next to oneDNN's live handles.
struct records_t {
    side_map_t<const_dnnl_graph_op_t, op_record_t> ops;
    side_map_t<const_dnnl_graph_graph_t, graph_record_t> graphs;
    side_map_t<const_dnnl_graph_tensor_t, tensor_record_t> tensors;
};

/// Never destroyed: a user's static objects may be destroyed after ours.
records_t &records();

} // namespace dnnl_dequant

#endif
