#include <xbyak/xbyak_util.h>

#include "kernels/machine.hpp"

namespace dnnl_dequant {

cpu_t this_cpu() {
    cpu_t cpu;
    if (__builtin_cpu_is("intel")) cpu.vendor = cpu_vendor_t::intel;
    if (__builtin_cpu_is("amd")) cpu.vendor = cpu_vendor_t::amd;
    cpu.has_avx512 = __builtin_cpu_supports("avx512f") != 0;
    cpu.has_avx512_vbmi = __builtin_cpu_supports("avx512vbmi") != 0;
    using Xbyak::util::Cpu;
    cpu.has_amx_bf16 = Cpu().has(Cpu::tAMX_BF16);
    return cpu;
}

} // namespace dnnl_dequant
