#ifndef KERNELS_DEQUANTIZE_JIT_PACK_WIDE_HPP
#define KERNELS_DEQUANTIZE_JIT_PACK_WIDE_HPP

#include <cstdint>

#include "base/types.hpp"
#include "kernels/dequantize/jit_pack.hpp"

namespace dnnl_dequant {

/// What jit_pack.hpp is for elements of 4 and 8 bits, for the others: tiles of
/// elements of 2 or 4 bytes, and of bytes for those of 2 bits, of which only
/// the lowest two bits of a byte count. Pitches are in elements of the tile.
/// Nothing outside the elements named is read.

/// A source of 16 or 32 bits. The code prefetches what is `ahead` bytes on.
void pack_transposed_wide(void *tile, dim_t pitch, const transposed_src_t &src,
        int bits, dim_t ahead = next_line);

/// A source of 2, 16 or 32 bits.
void pack_gathered_wide(void *tile, dim_t pitch, const gathered_src_t &src);

/// 2-bit elements `first` to `first + cols - 1`, one row.
void pack_quarters(uint8_t *tile, const void *src, dim_t first, dim_t cols);

} // namespace dnnl_dequant

#endif
