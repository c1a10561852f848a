#ifndef KERNELS_DEQUANTIZE_JIT_PACK_WIDE_HPP
#define KERNELS_DEQUANTIZE_JIT_PACK_WIDE_HPP

#include <cstdint>

#include "base/types.hpp"
#include "kernels/dequantize/jit_pack.hpp"

namespace dnnl_dequant {

/// The packers of jit_pack.hpp for other elements than 4 and 8 bits. Tiles hold
/// elements of 2 or 4 bytes. For elements of 2 bits they hold bytes, whose
/// lowest two bits count. Pitches are in elements of the tile. Only the
/// elements named are read.

/// Packs a source of 16 or 32 bits. The prefetch distance is `ahead` bytes.
void pack_transposed_wide(void *tile, dim_t pitch, const transposed_src_t &src,
        int bits, dim_t ahead = next_line);

/// Packs `rows` rows of 2-bit elements.
/// @param bytes Their bytes: each has the elements of four rows.
void pack_transposed_quarters(uint8_t *tile, dim_t pitch,
        const transposed_src_t &bytes, dim_t rows, isa_t isa, dim_t ahead);

/// Packs a source of 2, 16 or 32 bits.
void pack_gathered_wide(void *tile, dim_t pitch, const gathered_src_t &src);

/// Packs 2-bit elements `first` to `first + cols - 1`, one row.
void pack_quarters(uint8_t *tile, const void *src, dim_t first, dim_t cols);

} // namespace dnnl_dequant

#endif
