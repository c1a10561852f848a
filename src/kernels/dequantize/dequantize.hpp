#ifndef KERNELS_DEQUANTIZE_DEQUANTIZE_HPP
#define KERNELS_DEQUANTIZE_DEQUANTIZE_HPP

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

// The dequantize family: steps are [subtract zps,] multiply scales; src an
// integer, scales and dst floating.
#define X(name, isa, factory)                             \
    result_t factory(const problem_t &problem, isa_t isa, \
            std::shared_ptr<const kernel_t> &kernel);
#include "kernels/dequantize/kernels.def"
#undef X

} // namespace dnnl_dequant

#endif
