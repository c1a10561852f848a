#ifndef KERNELS_DEQUANTIZE_JIT_PACK_DWORDS_HPP
#define KERNELS_DEQUANTIZE_JIT_PACK_DWORDS_HPP

#include <cstdint>

#include "kernels/dequantize/jit_pack.hpp"

namespace dnnl_dequant {

/// A tile of dwords has, in each, the bytes of four rows of a column. So half
/// of a transposition is left to row kernels, which take a byte out of a lane
/// by the instruction that makes it a float.

/// Elements of so many bits in the bytes of one dword, and so of as many rows.
constexpr dim_t dword_rows(int bits) {
    return 32 / bits;
}

/// Rows of bytes, and columns, that a tile is whole blocks of.
constexpr dim_t dword_block_rows = 64, dword_block_cols = 16;

/// Packs bytes that are dense along the rows. Their columns have one stride.
/// @param pitch In bytes, from the dwords of four rows to the next ones.
/// @param ahead The prefetch distance in bytes.
void pack_dwords(
        uint8_t *tile, dim_t pitch, const transposed_src_t &bytes, dim_t ahead);

} // namespace dnnl_dequant

#endif
