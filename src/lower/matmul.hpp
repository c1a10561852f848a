#ifndef LOWER_MATMUL_HPP
#define LOWER_MATMUL_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Lowers a partition that begins with a product. `lowered` has its ports.
result_t lower_matmul(const partition_t &partition,
        const composition_t &composition, isa_t isa, int threads,
        lowered_t &lowered);

} // namespace dnnl_dequant

#endif
