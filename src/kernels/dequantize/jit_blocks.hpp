#ifndef KERNELS_DEQUANTIZE_JIT_BLOCKS_HPP
#define KERNELS_DEQUANTIZE_JIT_BLOCKS_HPP

#include "kernels/dequantize/jit_plan.hpp"

namespace dnnl_dequant {

/// Bytes of dst that are in the second cache.
constexpr dim_t in_cache_bytes = 1 << 20;
/// What a tile should be wide there, so that dst is written in long stretches.
constexpr dim_t wide_tile_cols = 256;

/// The blocks of rows and columns of a plan that is made otherwise, its pieces
/// and how many of them are a unit of work.
void choose_jit_blocks(const problem_t &problem, jit_plan_t &plan);

} // namespace dnnl_dequant

#endif
