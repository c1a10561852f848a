#include "machine.hpp"

#include <ctime>
#include <fstream>

#include <omp.h>
#include <unistd.h>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        const size_t colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
            return line.substr(colon + 2);
    }
    return "unknown CPU";
}

std::string onednn_version() {
    const auto *v = dnnl::version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "."
           + std::to_string(v->patch);
}

std::string isa_name() {
    const auto isa = dnnl::get_effective_cpu_isa();
    for (const auto &known : isa_names())
        if (known.isa == isa) return known.name;
    return "isa " + std::to_string(static_cast<int>(isa));
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc {};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

} // namespace

const std::vector<isa_name_t> &isa_names() {
    using dnnl::cpu_isa;
    static const std::vector<isa_name_t> names {
            {"sse41", cpu_isa::sse41},
            {"avx", cpu_isa::avx},
            {"avx2", cpu_isa::avx2},
            {"avx2_vnni", cpu_isa::avx2_vnni},
            {"avx2_vnni_2", cpu_isa::avx2_vnni_2},
            {"avx512_core", cpu_isa::avx512_core},
            {"avx512_core_vnni", cpu_isa::avx512_core_vnni},
            {"avx512_core_bf16", cpu_isa::avx512_core_bf16},
            {"avx512_core_fp16", cpu_isa::avx512_core_fp16},
            {"avx512_core_amx", cpu_isa::avx512_core_amx},
            {"avx512_core_amx_fp16", cpu_isa::avx512_core_amx_fp16},
    };
    return names;
}

machine_t this_machine() {
    machine_t m;
    m.cpu = cpu_name();
    m.cores = omp_get_num_procs();
    m.l2_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    m.l3_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    m.onednn = onednn_version();
    m.plugin = version();
    m.isa = isa_name();
    m.policy = policy();
    m.date = utc_now();
    return m;
}

} // namespace bench
} // namespace dnnl_dequant
