#ifndef SUPPORT_DEQUANTIZE_CASE_HPP
#define SUPPORT_DEQUANTIZE_CASE_HPP

#include <string>

#include "support/random.hpp"

namespace dnnl_dequant {
namespace support {

struct tensor_t {
    data_type_t type = data_type_t::undef;
    dims_t dims;
    dims_t strides;              // in elements
    dim_t offset = 0;            // elements of the buffer before the first
    bool is_boolean = false;     // of u8, as which it is kept
    bool is_host_scalar = false; // a value on the host, of rank 0

    bool present() const { return type != data_type_t::undef; }
    /// Elements of the buffer up to the last, offset and gaps included.
    dim_t span() const;
    dim_t count() const;
    size_t bytes() const { return static_cast<size_t>(bytes_of(type, span())); }
};

dims_t dense_strides(const dims_t &dims);
/// Dense after the dimensions are put in the order `order`, outermost first.
dims_t permuted_strides(const dims_t &dims, const std::vector<size_t> &order);
/// Returns dense strides except for `gap` unused elements after each row of
/// each dimension.
dims_t padded_strides(const dims_t &dims, dim_t gap);

enum class qtype_t { per_tensor, per_channel, per_group };

/// The ops that dequantize, and those that quantize; linear ones say their
/// granularity in ONNX's way.
enum class dequantize_op_t {
    dynamic,
    linear,
    extended_linear,
    dynamic_quantize,
    quantize_linear,
    extended_quantize_linear,
};

bool is_quantize(dequantize_op_t op);
/// True for ops of ONNX's shape.
bool is_linear(dequantize_op_t op);

const char *to_string(dequantize_op_t op);

/// One dequantize or quantize op: everything but the values, which `seed`
/// gives.
struct dequantize_case_t {
    dequantize_op_t op = dequantize_op_t::dynamic;
    tensor_t src;
    tensor_t scales;
    tensor_t zps; // absent: undef
    tensor_t dst;
    qtype_t qtype = qtype_t::per_tensor;
    dim_t axis = 1;       // per_channel, negative counts from the end
    dims_t group_shape;   // per_group
    bool saturate = true; // of QuantizeLinear to floats of 8 bits
    values_t values = values_t::any; // of floating tensors
    uint64_t seed = 0;
};

std::string to_string(const dequantize_case_t &c);

/// The dims that scales have for this dims, qtype, axis and group_shape.
dims_t scales_dims_of(const dequantize_case_t &c);

/// The dimension that a per_channel case has its axis at or that a per_group
/// case of one blocked dimension cuts; the last where all groups are 1.
size_t axis_dimension(const dequantize_case_t &c);

/// Fills the case with values that are the same each time. Zero points that the
/// op wants to be zero (ONNX's of small floats) are zero.
void fill(const dequantize_case_t &c, void *src, void *scales, void *zps);

/// Writes what dst has to be, point by point over the dims, straight from
/// the specification and in double arithmetic.
void reference(const dequantize_case_t &c, const void *src, const void *scales,
        const void *zps, void *dst);

/// Compares `count` elements bit for bit, but any NaN with any NaN, and the
/// bits of the last byte behind them.
/// Empty if equal, else the first difference and the number of them.
std::string difference(
        data_type_t type, const void *expected, const void *got, dim_t count);

} // namespace support
} // namespace dnnl_dequant

#endif
