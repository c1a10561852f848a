#ifndef LOWER_DECOMPOSED_QUANTIZE_HPP
#define LOWER_DECOMPOSED_QUANTIZE_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Lowers a partition that is DynamicQuantizeLinear's function body and whose
/// ports are resolved. It infers y, and scale and zero point if they leave the
/// partition. It fills the problem of the second pass and chooses kernels for
/// both.
result_t lower_decomposed_quantize(const partition_t &partition,
        const scope_t &scope, isa_t isa, lowered_t &lowered);

} // namespace dnnl_dequant

#endif
