#ifndef KERNELS_ATTENTION_JIT_MAKE_VALUE_DIGITS_HPP
#define KERNELS_ATTENTION_JIT_MAKE_VALUE_DIGITS_HPP

#include "kernels/attention/value_digits.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

using value_weights_code_t
        = jit_function_t<const value_digits_kernel_t::weights_t>;

/// Makes the code of value_digits_kernel_t::measure().
result_t make_jit_measure_weights(value_weights_code_t &code);
/// The same of make_digits().
result_t make_jit_make_value_digits(
        const value_digits_t &format, int digits, value_weights_code_t &code);

} // namespace dnnl_dequant

#endif
