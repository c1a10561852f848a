#ifndef KERNELS_DEQUANTIZE_JIT_BLOCKS_HPP
#define KERNELS_DEQUANTIZE_JIT_BLOCKS_HPP

#include "kernels/dequantize/jit_plan.hpp"

namespace dnnl_dequant {

/// Returns the most columns of a tile that is no panel. dst_bytes is the size
/// of an element of dst. Wide tiles write dst in long stretches.
dim_t widest_tile_cols(dim_t dst_bytes);

/// The blocks of rows and columns of a plan that is made otherwise, its pieces
/// and how many of them are a unit of work.
void choose_jit_blocks(const problem_t &problem, jit_plan_t &plan);

} // namespace dnnl_dequant

#endif
