#include "upstream/mapping.hpp"

#include "upstream/api.hpp"

namespace dnnl_dequant {

isa_t effective_isa() {
    const auto query = upstream::api().dnnl_get_effective_cpu_isa;
    if (query == nullptr) return isa_none;
    // oneDNN's values are sets too: a larger ISA has the bits of a smaller.
    const unsigned bits = static_cast<unsigned>(query());
    const auto covers = [bits](dnnl_cpu_isa_t isa) {
        const unsigned wanted = static_cast<unsigned>(isa);
        return (bits & wanted) == wanted;
    };
    if (covers(dnnl_cpu_isa_avx512_core_amx_fp16))
        return isa_avx512_core_amx_fp16;
    if (covers(dnnl_cpu_isa_avx512_core_bf16)) return isa_avx512_core_bf16;
    if (covers(dnnl_cpu_isa_avx512_core_vnni)) return isa_avx512_core_vnni;
    if (covers(dnnl_cpu_isa_avx512_core)) return isa_avx512_core;
    if (covers(dnnl_cpu_isa_avx2)) return isa_avx2;
    return isa_none;
}

} // namespace dnnl_dequant
