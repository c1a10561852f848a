#ifndef SUPPORT_CPU_HPP
#define SUPPORT_CPU_HPP

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dnnl_dequant {
namespace support {

// Features that clang 14's __builtin_cpu_supports() has no name for.

/// Whether the CPU converts f16.
inline bool has_f16c() {
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

/// Whether it has vpdpbusd of 256 bits without AVX-512.
inline bool has_avx_vnni() {
    constexpr unsigned int avx_vnni = 1u << 4;
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0
           && (eax & avx_vnni) != 0;
}

/// Whether it has tiles of bf16 and Linux gives this process their registers,
/// for which it wants to be asked.
inline bool has_amx_bf16() {
    constexpr unsigned int amx_bf16 = 1u << 22, amx_tile = 1u << 24;
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
    if ((edx & amx_bf16) == 0 || (edx & amx_tile) == 0) return false;
    constexpr int request_permission = 0x1023, tile_data = 18;
    return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

} // namespace support
} // namespace dnnl_dequant

#endif

#endif
