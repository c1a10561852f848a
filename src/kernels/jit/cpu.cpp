#include <cpuid.h>

#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

// clang 14's __builtin_cpu_supports() has no name for it.
bool has_amx_bf16() {
    constexpr unsigned int amx_bf16 = 1u << 22, amx_tile = 1u << 24,
                           amx_int8 = 1u << 25,
                           all = amx_bf16 | amx_tile | amx_int8;
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0
           && (edx & all) == all;
}

unsigned family() {
    constexpr unsigned int base_mask = 0xf, extended_mask = 0xff;
    unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return 0;
    const unsigned int base = eax >> 8 & base_mask;
    return base < base_mask ? base : base + (eax >> 20 & extended_mask);
}

cpu_t read_cpu() {
    cpu_t cpu;
    if (__builtin_cpu_is("intel")) cpu.vendor = cpu_vendor_t::intel;
    if (__builtin_cpu_is("amd")) cpu.vendor = cpu_vendor_t::amd;
    cpu.family = family();
    cpu.has_avx512 = __builtin_cpu_supports("avx512f") != 0;
    cpu.has_avx512_vbmi = __builtin_cpu_supports("avx512vbmi") != 0;
    cpu.has_amx_bf16 = has_amx_bf16();
    return cpu;
}

} // namespace

// Every compile asks, and a hypervisor takes microseconds to answer cpuid.
cpu_t this_cpu() {
    static const cpu_t cpu = read_cpu();
    return cpu;
}

} // namespace dnnl_dequant
