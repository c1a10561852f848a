#ifndef KERNELS_ELEMENTWISE_JIT_FUNCTION_HPP
#define KERNELS_ELEMENTWISE_JIT_FUNCTION_HPP

#include <array>
#include <vector>

#include "kernels/elementwise/function.hpp"
#include "kernels/jit/constants.hpp"

namespace dnnl_dequant {

/// The registers of a program, the first argument and value.
template <isa_t isa>
using function_registers_t
        = std::array<typename jit_isa_t<isa>::vmm_t, program_registers>;

/// Emits a function's program on vectors of f32, with the bits that evaluate()
/// gives. AVX-512: clobbers k5. Several vectors go side by side, since each
/// instruction waits for the one before it.
template <isa_t isa>
void emit_function(jit_generator_t &host, jit_constants_t<isa> &constants,
        const program_t &program,
        const std::vector<function_registers_t<isa>> &vectors);

} // namespace dnnl_dequant

#endif
