#ifndef KERNELS_DEQUANTIZE_JIT_PACK_DST_HPP
#define KERNELS_DEQUANTIZE_JIT_PACK_DST_HPP

#include "base/types.hpp"

namespace dnnl_dequant {

/// Packs elements of 2 or 4 bits, from the low bits of a byte each, to elements
/// `first` to `first + count - 1` of dst. Other elements of the bytes at the
/// ends stay as they are.
void pack_bits(void *dst, int bits, dim_t first, const void *from, dim_t count);

} // namespace dnnl_dequant

#endif
