#include "upstream/mapping.hpp"

#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

struct feature_t {
    dnnl_cpu_isa_t upstream;
    isa_t isa;
};
constexpr feature_t features[] = {
        {dnnl_cpu_isa_avx2, isa_avx2},
        {dnnl_cpu_isa_avx2_vnni, isa_avx_vnni},
        {dnnl_cpu_isa_avx512_core, isa_avx512_core},
        {dnnl_cpu_isa_avx512_core_vnni, isa_avx512_core_vnni},
        {dnnl_cpu_isa_avx512_core_bf16, isa_avx512_core_bf16},
        {dnnl_cpu_isa_avx512_core_amx, isa_amx_int8},
        {dnnl_cpu_isa_avx512_core_amx_fp16, isa_amx_fp16},
};

} // namespace

isa_t effective_isa() {
    const auto query = upstream::api().dnnl_get_effective_cpu_isa;
    if (query == nullptr) return isa_none;
    // oneDNN's values are sets too: a larger ISA has the bits of a smaller.
    const auto effective = static_cast<unsigned>(query());
    unsigned isa = isa_none;
    for (const feature_t &feature : features) {
        const auto wanted = static_cast<unsigned>(feature.upstream);
        if ((effective & wanted) == wanted) isa |= feature.isa;
    }
    return static_cast<isa_t>(isa);
}

} // namespace dnnl_dequant
