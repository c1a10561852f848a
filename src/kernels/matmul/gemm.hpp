#ifndef KERNELS_MATMUL_GEMM_HPP
#define KERNELS_MATMUL_GEMM_HPP

#include <memory>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// One block of a product, f32, row-major: c is a * b, or that much more.
/// Strides are in elements. The columns of b and c are read and written in
/// whole panels.
struct gemm_block_t {
    const float *a, *b;
    float *c;
    dim_t lda, ldb, ldc;
    dim_t rows, cols, depth;
    bool accumulates;
};

/// Multiplies blocks. Each element of c is summed over depth in order, with
/// one rounding a term, by fused multiply-add where the machine has it.
class gemm_t {
public:
    virtual ~gemm_t() = default;

    /// "jit_matmul_avx512_core"
    virtual const char *name() const = 0;
    /// Columns that are done together.
    virtual dim_t panel() const = 0;
    virtual void run(const gemm_block_t &block) const noexcept = 0;
};

/// Makes the fastest one that `isa` has; out_of_memory where there is none
/// for code.
result_t make_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm);

/// Of generated code; unimplemented without AVX2.
result_t make_jit_gemm(isa_t isa, std::shared_ptr<const gemm_t> &gemm);

} // namespace dnnl_dequant

#endif
