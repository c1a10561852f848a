#ifndef KERNELS_ATTENTION_JIT_MAKE_DIGITS_HPP
#define KERNELS_ATTENTION_JIT_MAKE_DIGITS_HPP

#include "kernels/attention/digits.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

using make_digits_code_t = jit_function_t<digits_kernel_t::row_t>;

/// Makes the code of digits_kernel_t::make_digits(), for AVX-512 VNNI.
result_t make_jit_make_digits(
        const digits_format_t &format, make_digits_code_t &code);

} // namespace dnnl_dequant

#endif
