#ifndef KERNELS_DEQUANTIZE_JIT_PARAMS_BLOCKS_HPP
#define KERNELS_DEQUANTIZE_JIT_PARAMS_BLOCKS_HPP

#include "base/data_type.hpp"

namespace dnnl_dequant {

/// The number of elements that stage_blocks_t orders and takes at a time.
constexpr dim_t staged_block = 32;

/// Parameters to stage: of each row so many that are dense, from a byte on.
struct staged_rows_t {
    float *to;
    const void *from;
    dim_t rows, count;
    dim_t to_pitch, from_pitch; // floats, bytes
    // The even elements of each block first; the blocks are whole.
    bool paired;
    // Bytes from parameters to those that are to be prefetched; 0: none.
    dim_t ahead;
    float bias = 0.f; // by stage_biased_blocks_of() only
};

/// Does what stage_t of jit_params.hpp and pair_blocks() do together, row after
/// row, and returns what stage_t does. With AVX-512 it writes up to 15 floats
/// past each row; without, nothing may be paired.
using stage_blocks_t = bool (*)(const staged_rows_t &rows);

/// Stages rows of a type of so many bits. Rows of a few parameters are joined
/// first, since a row takes as many instructions as a block does.
bool join_and_stage(stage_blocks_t stage, staged_rows_t rows, dim_t bits);

/// Stages scales, or zero points as one f32 each. Null for rare types, which
/// only stage_t serves.
stage_blocks_t stage_blocks_of(data_type_t type);

/// The same of zero points of 4 and 8 bits, with the bias, in their order: an
/// integer of no more than 24 bits. The machine has AVX-512. Nothing is paired.
stage_blocks_t stage_biased_blocks_of(data_type_t type);

/// Scales that are less, and not zero, may have subnormal products.
constexpr float least_ordinary_scale = 0x1p-100f;
/// The same of scales; true if some are not zero and less than that.
stage_blocks_t stage_checked_blocks_of(data_type_t type);

} // namespace dnnl_dequant

#endif
