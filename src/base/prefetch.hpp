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

} // namespace dnnl_dequant

#endif
