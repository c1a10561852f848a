#ifndef KERNELS_JIT_BF16_PAIRS_HPP
#define KERNELS_JIT_BF16_PAIRS_HPP

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Returns the order of words 0 and 16, 1 and 17, and so on. It makes pairs of
/// what vcvtne2ps2bf16 puts one behind the other.
inline jit_generator_t::lanes_t order_of_bf16_pairs() {
    jit_generator_t::lanes_t order;
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<uint32_t>(i | (i + order.size()) << 16);
    return order;
}

} // namespace dnnl_dequant

#endif
