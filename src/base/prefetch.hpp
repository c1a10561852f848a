#ifndef BASE_PREFETCH_HPP
#define BASE_PREFETCH_HPP

#include "base/types.hpp"

namespace dnnl_dequant {

/// Prefetches the line of an address, which need not be readable, into the
/// first cache, or into the second and no further.
///
/// GCC takes a function that only prefetches for one without effect, and leaves
/// out its calls. The empty statement is an effect.
template <int cache>
inline void prefetch_into(const void *address) noexcept {
    static_assert(cache == 1 || cache == 2, "a cache of one core");
    __builtin_prefetch(address, 0, cache == 1 ? 3 : 2);
    asm volatile("" : : "m"(*static_cast<const char *>(address)));
}

/// Prefetches all lines of so many bytes into the first cache.
inline void prefetch_bytes(const char *first, dim_t bytes) noexcept {
    constexpr dim_t line = 64;
    for (dim_t at = 0; at < bytes; at += line)
        prefetch_into<1>(first + at);
    prefetch_into<1>(first + bytes - 1);
}

/// Prefetch distances in bytes. Rows are read by chunks, panel after panel of a
/// chunk. One distance holds within a chunk, the other from its last panels to
/// the first panels of the next chunk.
struct panels_ahead_t {
    dim_t within, last, last_panels;
};
inline panels_ahead_t panels_ahead(
        dim_t ahead, dim_t panel_bytes, dim_t row_bytes, dim_t chunk_bytes) {
    return {ahead, chunk_bytes + ahead - row_bytes, ahead / panel_bytes};
}

/// Rows that are prefetched in the order of addresses: the next line, and the
/// end of its row. The bytes from there to the next row are a gap.
struct next_rows_t {
    const char *at = nullptr, *row_end = nullptr;
    dim_t gap = 0, pitch = 0;
};
/// @param done The bytes of the rows that have been prefetched before.
inline next_rows_t next_rows(
        const void *rows, dim_t pitch, dim_t row_bytes, dim_t done) {
    const char *const row
            = static_cast<const char *>(rows) + done / row_bytes * pitch;
    return {row + done % row_bytes, row + row_bytes, pitch - row_bytes, pitch};
}

} // namespace dnnl_dequant

#endif
