#ifndef RANDOM_QUANTIZED_HPP
#define RANDOM_QUANTIZED_HPP

#include "random/builder.hpp"

namespace dnnl_dequant {
namespace random_graphs {

// These functions make values on either side of integers, for ops and for
// patterns. A channel is a dimension, or -1 for one scale.

type_t any_quantized_type(builder_t &b);
/// Sets scales, zero points (zeros if it has none) and granularity of the last
/// op.
void set_quantization(
        builder_t &b, const sizes_t &dims, bool has_zps, int64_t channel);
size_t dequantized(
        builder_t &b, const sizes_t &dims, type_t type, int64_t channel);
size_t quantized(builder_t &b, size_t src, type_t type, int64_t channel);
/// Adds a DynamicDequantize of any granularity, to a floating type.
size_t dynamically_dequantized(
        builder_t &b, const sizes_t &dims, type_t floating);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
