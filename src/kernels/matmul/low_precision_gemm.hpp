#ifndef KERNELS_MATMUL_LOW_PRECISION_GEMM_HPP
#define KERNELS_MATMUL_LOW_PRECISION_GEMM_HPP

#include "base/data_type.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// One block of a product of 16-bit factors: c = a * b, or c += a * b, in f32.
/// All are row-major. Their pitches are known beforehand and at least two
/// columns. If a block has one column, the second may be read in b and written
/// in c.
struct low_precision_gemm_block_t {
    const void *a, *b;
    float *c;
    dim_t rows, cols, depth;
    bool accumulates;
};

/// Multiplies blocks by a CPU's instructions for pairs of bf16 or f16.
class low_precision_gemm_t {
public:
    virtual ~low_precision_gemm_t() = default;

    /// Returns the name in the log, such as "onednn_matmul_bf16".
    virtual const char *name() const = 0;
    /// Returns the type of a and b.
    virtual data_type_t type() const = 0;
    /// Returns the scratch memory that a thread needs, aligned to 64 bytes.
    virtual dim_t scratch_bytes() const = 0;
    /// The calling thread sums each element of c, in an order that depends on
    /// the block's sizes alone.
    /// @returns what oneDNN says; if it fails, c is unspecified.
    virtual status_t run(const low_precision_gemm_block_t &block,
            void *scratch) const noexcept
            = 0;
};

} // namespace dnnl_dequant

#endif
