#ifndef SUPPORT_LINEAR_CASES_HPP
#define SUPPORT_LINEAR_CASES_HPP

#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace support {

/// Returns the cases that the op can say, said by it. An op of ONNX's shape has
/// zero points of the scales' shape, and groups (if it has blocks) along one
/// dimension. It says one element as a scalar or in one or two dimensions.
std::vector<dequantize_case_t> shapes_of(
        dequantize_op_t op, const std::vector<dequantize_case_t> &shapes);

/// The quantized types that an op takes.
const std::vector<data_type_t> &quantized_types(dequantize_op_t op);

/// The types that it takes on the other side.
const std::vector<data_type_t> &plain_types(dequantize_op_t op);

/// Returns every combination of the op's scales and of zero points (none, or of
/// the quantized type) with a quantized and a plain type.
std::vector<types_t> linear_combinations(
        dequantize_op_t op, data_type_t quantized, data_type_t plain);

} // namespace support
} // namespace dnnl_dequant

#endif
