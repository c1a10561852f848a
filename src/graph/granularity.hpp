#ifndef GRAPH_GRANULARITY_HPP
#define GRAPH_GRANULARITY_HPP

#include "base/data_type.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "graph/op_record.hpp"

namespace dnnl_dequant {

enum class qtype_t { per_tensor, per_channel, per_group };

/// The op's attributes, as they say which elements of src share a scale.
struct granularity_t {
    qtype_t qtype = qtype_t::per_tensor;
    dim_t axis = 1;     // per_channel; as given, so possibly negative
    dims_t group_shape; // per_group; one a dimension of src
};

/// Reads the granularity of an op that has passed its schema and whose input
/// shapes are known: DynamicDequantize tells it by attributes, the ONNX-shaped
/// ops by the shape of the scale as well.
granularity_t granularity_of(const op_record_t &op);

/// Checks DynamicDequantize and DynamicQuantize, as far as shapes are known:
/// - the axis lies in [-rank .. rank - 1];
/// - group_shape is there, positive and of src's rank;
/// - zps are integers if the quantized tensor is, and floats if it is.
result_t check_dynamic(const op_record_t &op);

/// Checks the ONNX-shaped ops, as far as shapes are known:
/// - a zero point has the quantized tensor's type and scale's shape;
/// - a scale of more than one element has an axis in [-rank .. rank - 1];
/// - block_size lies in ONNX's range [ceil(D / S) .. ceil(D / (S - 1)) - 1].
result_t check_linear(const op_record_t &op);

/// Schema check of DynamicQuantizeLinear: that of the granularity, and a zero
/// point of y's type; y is s8 where there is none.
result_t check_range_quantize(const op_record_t &op);

/// True for an op that finds scales and zero points itself.
bool is_range_quantize(const op_record_t &op);

/// True for an op whose second input divides: dst is its quantized tensor,
/// where for other ops that is src.
bool is_quantize(const op_record_t &op);

/// The quantized tensor's type.
data_type_t quantized_type(const op_record_t &op);

/// True for an op whose scale and zero point follow ONNX's rules.
bool is_linear(const op_record_t &op);

/// True where the op demands a zero point of 0: ONNX, for small floats.
bool demands_zero(const op_record_t &op);

/// The group size along each dimension of src (problem/make_problem.hpp).
dims_t group_sizes(const granularity_t &granularity, const dims_t &src_dims);

/// The shape that the scales of an op that finds them have, if nobody names
/// another: a scalar, a list of channels, or a grid of groups.
dims_t found_scales_dims(
        const granularity_t &granularity, const dims_t &src_dims);

} // namespace dnnl_dequant

#endif
