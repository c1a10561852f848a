#ifndef KERNELS_DEQUANTIZE_JIT_PARAMS_BLOCKS_HPP
#define KERNELS_DEQUANTIZE_JIT_PARAMS_BLOCKS_HPP

#include "base/data_type.hpp"

namespace dnnl_dequant {

/// Of what stage_blocks_t stages, a block.
constexpr dim_t staged_block = 32;

/// As stage_t of jit_params.hpp and pair_blocks() together, for whole blocks
/// that are dense from the byte at `from` on. `paired`: the even elements of
/// each block first. True where some are subnormal. The machine has AVX-512.
using stage_blocks_t
        = bool (*)(float *to, const void *from, dim_t count, bool paired);

/// Null where only stage_t serves: for types that are rare, or whose stage_t
/// has something to say of the values.
stage_blocks_t stage_blocks_of(data_type_t type);

} // namespace dnnl_dequant

#endif
