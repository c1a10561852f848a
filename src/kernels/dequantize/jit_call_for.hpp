#ifndef KERNELS_DEQUANTIZE_JIT_CALL_FOR_HPP
#define KERNELS_DEQUANTIZE_JIT_CALL_FOR_HPP

#include <immintrin.h>

namespace dnnl_dequant {

/// Prefetches the line of an address, which need not be readable, into the
/// first cache, or into the second and no further.
template <bool to_l2>
inline void call_for(const void *address) {
    const auto *const byte = static_cast<const char *>(address);
    if constexpr (to_l2) _mm_prefetch(byte, _MM_HINT_T1);
    else _mm_prefetch(byte, _MM_HINT_T0);
}

} // namespace dnnl_dequant

#endif
