#ifndef KERNELS_MATMUL_NARROW_GEMM_HPP
#define KERNELS_MATMUL_NARROW_GEMM_HPP

#include "base/data_type.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// One block of a product of factors of 16 bits: c is a * b, or that much
/// more, in f32. All are row-major, of pitches that are known beforehand and
/// at least two columns: of a block that has one, the second may be read of b
/// and written of c.
struct narrow_gemm_block_t {
    const void *a, *b;
    float *c;
    dim_t rows, cols, depth;
    bool accumulates;
};

/// Multiplies blocks by a CPU's instructions for pairs of bf16 or f16.
class narrow_gemm_t {
public:
    virtual ~narrow_gemm_t() = default;

    /// "onednn_matmul_bf16"
    virtual const char *name() const = 0;
    /// Of a and b.
    virtual data_type_t type() const = 0;
    /// That a thread needs to multiply in, from a multiple of 64 on.
    virtual dim_t scratch_bytes() const = 0;
    /// Each element of c is summed on the calling thread, in an order that
    /// depends on the block's sizes alone.
    /// @returns what oneDNN says; where it fails c is unspecified.
    virtual status_t run(
            const narrow_gemm_block_t &block, void *scratch) const noexcept
            = 0;
};

} // namespace dnnl_dequant

#endif
