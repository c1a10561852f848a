#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_STORE_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_STORE_HPP

#include "base/types.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

struct amx_store_args_t;

/// Stores sums of columns x rows, as tiles of AMX have them, to rows of c.
class amx_store_t {
public:
    result_t make();

    /// Reads whole vectors: up to fifteen sums behind the last of a column.
    /// @param pitch From column to column of the sums, elements.
    /// @param cols A multiple of sixteen.
    void operator()(const float *sums, dim_t pitch, dim_t cols, dim_t rows,
            float *c, dim_t c_pitch) const noexcept;

private:
    jit_function_t<amx_store_args_t> code_;
};

} // namespace dnnl_dequant

#endif
