#ifndef KERNELS_MATMUL_JIT_GEMV_CODE_HPP
#define KERNELS_MATMUL_JIT_GEMV_CODE_HPP

#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

/// Some rows by a panel of columns, down some rows of weights of one group.
struct jit_gemv_args_t {
    const float *a;
    const void *weights, *scales, *zps;
    float *c, *partial;
    dim_t a_pitch, weights_pitch, c_pitch; // bytes
    dim_t depth;
    dim_t continues, ends; // a group's sums: begun before, scaled here
};

/// Rows that one piece of code does, at most.
constexpr int most_jit_rows = 6;

class jit_gemv_code_t {
public:
    virtual ~jit_gemv_code_t() = default;
    /// A panel's: 64 or 128.
    virtual dim_t cols() const = 0;
    virtual void operator()(const jit_gemv_args_t &args) const = 0;
};

result_t make_jit_gemv_code(const gemv_weights_t &weights, int rows,
        std::unique_ptr<jit_gemv_code_t> &code);

} // namespace dnnl_dequant

#endif
