#include "support/isa_of_machine.hpp"

#include "support/cpu.hpp"

namespace dnnl_dequant {
namespace support {

isa_t isa_of_machine() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")
            || !has_f16c())
        return isa_none;
    unsigned isa = isa_avx2;
    if (has_avx_vnni()) isa |= isa_avx_vnni;
    const bool avx512_core = __builtin_cpu_supports("avx512f")
                             && __builtin_cpu_supports("avx512bw")
                             && __builtin_cpu_supports("avx512vl")
                             && __builtin_cpu_supports("avx512dq");
    if (avx512_core) isa |= isa_avx512_core;
    if (avx512_core && __builtin_cpu_supports("avx512vnni"))
        isa |= isa_avx512_core_vnni;
    if (has(static_cast<isa_t>(isa), isa_avx512_core_vnni)
            && __builtin_cpu_supports("avx512bf16"))
        isa |= isa_avx512_core_bf16;
    if (has(static_cast<isa_t>(isa), isa_avx512_core_vnni)
            && __builtin_cpu_supports("avx512vbmi"))
        isa |= isa_avx512_core_vbmi;
    if (has_amx_bf16()) isa |= isa_amx_bf16;
    return static_cast<isa_t>(isa);
#else
    return isa_none;
#endif
}

} // namespace support
} // namespace dnnl_dequant
