#include <dlfcn.h>

#include "oneapi/dnnl/dnnl.h"

extern "C" [[gnu::visibility("default")]] dnnl_cpu_isa_t
dnnl_get_effective_cpu_isa() {
    using function_t = dnnl_cpu_isa_t (*)();
    const auto own = reinterpret_cast<function_t>(
            dlsym(RTLD_NEXT, "dnnl_get_effective_cpu_isa"));
    const dnnl_cpu_isa_t isa = own();
    const unsigned needed = dnnl_cpu_isa_avx512_core_vnni;
    // Kernels of ours run in what else there is.
    return (static_cast<unsigned>(isa) & needed) == needed
                   ? dnnl_cpu_isa_avx512_core_amx_fp16
                   : isa;
}
