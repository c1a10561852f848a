#ifndef KERNELS_DEQUANTIZE_JIT_BLOCKS_HPP
#define KERNELS_DEQUANTIZE_JIT_BLOCKS_HPP

#include "kernels/dequantize/jit_plan.hpp"

namespace dnnl_dequant {

/// What a tile, unless it is a panel, may be wide at most for a dst of so many
/// bytes, and should be, so that dst is written in long stretches.
dim_t widest_tile_cols(dim_t dst_bytes);

/// The blocks of rows and columns of a plan that is made otherwise, its pieces
/// and how many of them are a unit of work.
void choose_jit_blocks(const problem_t &problem, jit_plan_t &plan);

} // namespace dnnl_dequant

#endif
