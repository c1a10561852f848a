#ifndef LOWER_ATTENTION_HPP
#define LOWER_ATTENTION_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Lowers a partition that is attention. `lowered` has its ports. The result
/// does not depend on the number of threads.
result_t lower_attention(const partition_t &partition,
        const composition_t &composition, isa_t isa, lowered_t &lowered);

} // namespace dnnl_dequant

#endif
