#ifndef KERNELS_JIT_AVX512_INTRINSICS_HPP
#define KERNELS_JIT_AVX512_INTRINSICS_HPP

#include <immintrin.h>

/// The instructions of isa_avx512_core. A source that includes this has them in
/// the functions that say so, and is for x86-64 alone.
#define DNNL_DEQUANT_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

// GCC 12 warns of its own header, where what is undefined is masked away. It
// does so in the functions that call it, to the end of the source.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#endif
