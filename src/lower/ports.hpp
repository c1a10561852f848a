#ifndef LOWER_PORTS_HPP
#define LOWER_PORTS_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Fills lowered.inputs with the given tensors in the ports' order, with
/// explicit strides for dense ones, and lowered.outputs with the given tensors
/// as they are. Checks types, shapes, strides and layouts one by one.
result_t resolve_ports(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, lowered_t &lowered);

/// Gives an output the shape `dims`: holds it against what the user told of
/// it and fills in what is unknown. For layout `any` (and where strides are
/// not told) it gets `preferred` strides. Checks that it does not overlap
/// itself.
result_t infer_output(const partition_t &partition, const dims_t &dims,
        const dims_t &preferred, logical_tensor_t &output);

/// `DynamicDequantize "name" (id 3): scales (id 7)`: the op that has the
/// tensor and what it is to it, for sentences.
std::string describe_port(const partition_t &partition, size_t tensor);

/// True if the inputs of compile have the shapes that the graph was built with,
/// as far as it had any. Otherwise what it says of the shapes of values inside
/// the partition no longer holds.
bool has_shapes_of_graph(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs);

/// The port of that id, or null.
const logical_tensor_t *find_port(
        const std::vector<logical_tensor_t> &ports, size_t tensor);

} // namespace dnnl_dequant

#endif
