#ifndef KERNELS_QUANTIZE_QUANTIZE_HPP
#define KERNELS_QUANTIZE_QUANTIZE_HPP

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

// The quantize family: steps are divide scales[, offset zps or, of floating
// dst, add zps][, saturate]; src f32, bf16, f16 or s32, dst of at most 32 bits.
// Plain C++ of it is the elementwise family's.
#define X(name, isa, factory)                             \
    result_t factory(const problem_t &problem, isa_t isa, \
            std::shared_ptr<const kernel_t> &kernel);
#include "kernels/quantize/kernels.def"
#undef X

} // namespace dnnl_dequant

#endif
