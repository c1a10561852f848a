#ifndef KERNELS_DEQUANTIZE_JIT_STREAM_HPP
#define KERNELS_DEQUANTIZE_JIT_STREAM_HPP

#include "base/types.hpp"

namespace dnnl_dequant {

/// Bytes above which dst is better written past the caches, `in_tiles` or in
/// long stretches.
dim_t streaming_threshold(bool in_tiles);

/// Short rows with gaps between them are prefetched so many bytes of rows
/// ahead. Long ones are prefetched a row ahead, unless it is farther away.
constexpr dim_t bytes_of_rows_ahead = 1024, far_row_bytes = 64 * 1024;

/// A dst of so many bytes is written there and may stay.
bool is_in_second_cache(dim_t dst_bytes);

/// Whether so large a dst of tiles is better written in long stretches, line by
/// line after a call for it, than past the caches.
bool prefers_panels(dim_t dst_bytes);

/// Copies past the caches, whole 64-byte lines, whatever the alignment; the
/// parts of lines at the ends go the ordinary way. stream_fence() must follow
/// the last one. The machine has AVX.
void stream_copy(void *to, const void *from, dim_t bytes);

void stream_fence();

} // namespace dnnl_dequant

#endif
