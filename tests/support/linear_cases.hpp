#ifndef SUPPORT_LINEAR_CASES_HPP
#define SUPPORT_LINEAR_CASES_HPP

#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace support {

/// Those of the cases that one of the ONNX-shaped ops can say, said by it:
/// zero points of the scales' shape, groups (of DequantizeLinear only) along
/// one dimension; one element as a scalar, or of one or two dimensions.
std::vector<dequantize_case_t> linear_shapes(
        dequantize_op_t op, const std::vector<dequantize_case_t> &shapes);

/// The sources that an op takes.
const std::vector<data_type_t> &sources_of(dequantize_op_t op);

/// Every combination of scales (f32 for the extended op, else f32 bf16 f16
/// e8m0) and zero points (none, or of src's type) with src and dst.
std::vector<types_t> linear_combinations(
        dequantize_op_t op, data_type_t src, data_type_t dst);

} // namespace support
} // namespace dnnl_dequant

#endif
