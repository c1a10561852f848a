#ifndef BASE_PREFETCH_HPP
#define BASE_PREFETCH_HPP

namespace dnnl_dequant {

/// Prefetches the line of an address, which need not be readable, into the
/// second cache.
///
/// GCC takes a function that only prefetches for one without effect, and leaves
/// out its calls. The empty statement is an effect.
inline void prefetch_into_l2(const void *address) noexcept {
    __builtin_prefetch(address, 0, 2);
    asm volatile("" : : "r"(address));
}

} // namespace dnnl_dequant

#endif
