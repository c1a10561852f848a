#ifndef LOWER_DYNAMIC_QUANTIZE_HPP
#define LOWER_DYNAMIC_QUANTIZE_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Lowers a partition that is a DynamicQuantizeLinear and whose ports are
/// resolved: infers y, y_scale and y_zero_point, fills the problem of the
/// second pass and chooses kernels for both.
result_t lower_dynamic_quantize(
        const partition_t &partition, isa_t isa, lowered_t &lowered);

} // namespace dnnl_dequant

#endif
