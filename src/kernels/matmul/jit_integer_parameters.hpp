#ifndef KERNELS_MATMUL_JIT_INTEGER_PARAMETERS_HPP
#define KERNELS_MATMUL_JIT_INTEGER_PARAMETERS_HPP

#include "kernels/dequantize/jit_params.hpp"
#include "kernels/matmul/integer_kernel.hpp"

namespace dnnl_dequant {

/// integer_kernel_t::load_parameters(), by vectors whichever way parameters
/// lie. The machine has AVX2 and F16C.
class jit_integer_parameters_t {
public:
    explicit jit_integer_parameters_t(const integer_format_t &format);

    void load(const integer_parameters_t &from, dim_t cols, dim_t groups,
            integer_columns_t *columns) const noexcept;

private:
    const integer_format_t format_;
    const int bias_;
    const stage_t stage_scales_, stage_zps_;
};

} // namespace dnnl_dequant

#endif
