#ifndef SUPPORT_F16C_HPP
#define SUPPORT_F16C_HPP

#if defined(__x86_64__)

#include <cpuid.h>

namespace dnnl_dequant {
namespace support {

/// Whether the CPU converts f16; clang 14's __builtin_cpu_supports() does not
/// know the name.
inline bool has_f16c() {
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

} // namespace support
} // namespace dnnl_dequant

#endif

#endif
