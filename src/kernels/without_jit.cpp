// Replaces the generated code on machines other than x86-64: each factory
// refuses, and plain C++ serves.

#include "kernels/attention/digits.hpp"
#include "kernels/attention/softmax_rows.hpp"
#include "kernels/attention/value_digits.hpp"
#include "kernels/dequantize/dequantize.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/machine.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/quantize/jit_dynamic_rows.hpp"
#include "kernels/quantize/jit_row_factors.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/quantize/ranges.hpp"
#include "kernels/short_rows/interleave.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

namespace {

result_t refuse_machine() {
    return refuse("the machine is no x86-64");
}

} // namespace

#define REFUSE(factory)                                                    \
    result_t factory(                                                      \
            const problem_t &, isa_t, std::shared_ptr<const kernel_t> &) { \
        return refuse_machine();                                           \
    }
REFUSE(make_jit_dequantize_avx512_core)
REFUSE(make_jit_dequantize_avx2)
REFUSE(make_jit_quantize_avx512_core)
REFUSE(make_jit_quantize_avx2)
REFUSE(make_jit_ranges)
REFUSE(make_jit_elementwise_avx512_core)
REFUSE(make_jit_elementwise_avx2)
REFUSE(make_copy_avx512_core)
REFUSE(make_copy_avx2)
#undef REFUSE

result_t make_jit_dynamic_rows(
        const dynamic_rows_t &, isa_t, std::shared_ptr<const kernel_t> &) {
    return refuse_machine();
}

// Only generated code has a use for these.
void make_row_parameters(
        const row_ranges_t &, row_parameters_t &, float *, void *) {}
void make_row_factors(const row_ranges_t &, row_parameters_t &) {}

result_t make_jit_interleave(
        const planes_t &, isa_t, std::shared_ptr<const interleave_t> &) {
    return refuse_machine();
}

result_t make_jit_digits(const digits_format_t &, dim_t, isa_t,
        std::shared_ptr<const digits_kernel_t> &) {
    return refuse_machine();
}

result_t make_jit_value_digits(const value_digits_t &, dim_t, isa_t,
        std::shared_ptr<const value_digits_kernel_t> &) {
    return refuse_machine();
}

result_t make_jit_weighted_sum(const weighted_values_t &, dim_t, isa_t,
        std::shared_ptr<const weighted_sum_t> &) {
    return refuse_machine();
}

cpu_t this_cpu() {
    return {};
}

result_t make_jit_softmax_rows(isa_t, std::shared_ptr<const softmax_rows_t> &) {
    return refuse_machine();
}

result_t make_jit_gemm(isa_t, data_type_t, std::shared_ptr<const gemm_t> &) {
    return refuse_machine();
}

result_t make_amx_gemm(bool, std::shared_ptr<const gemm_t> &) {
    return refuse_machine();
}

result_t make_skinny_kernel(const skinny_weights_t &, dim_t, isa_t,
        std::shared_ptr<const skinny_gemm_t> &, const skinny_refusal_t &) {
    return refuse_machine();
}

result_t make_jit_integer_kernel(const integer_format_t &, isa_t,
        std::shared_ptr<const integer_kernel_t> &) {
    return refuse_machine();
}

result_t make_integer_stream(const integer_stream_weights_t &, isa_t,
        std::shared_ptr<const integer_stream_t> &) {
    return refuse_machine();
}

result_t make_integer_repacked(const integer_format_t &, dim_t, isa_t,
        std::shared_ptr<const integer_repacked_kernel_t> &) {
    return refuse_machine();
}

} // namespace dnnl_dequant
