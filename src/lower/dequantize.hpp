#ifndef LOWER_DEQUANTIZE_HPP
#define LOWER_DEQUANTIZE_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Lowers a partition of kind `dequantize` whose ports are resolved: checks
/// the shapes against each other, infers dst, fills the problem and its
/// operands.
result_t lower_dequantize(const partition_t &partition, lowered_t &lowered);

} // namespace dnnl_dequant

#endif
