#ifndef BENCHMARKS_MACHINE_HPP
#define BENCHMARKS_MACHINE_HPP

#include <string>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

namespace dnnl_dequant {
namespace bench {

/// The machine and the libraries that the figures were taken with.
struct machine_t {
    std::string cpu;
    int cores = 0; // that this process may use
    long l2_bytes = 0, l3_bytes = 0;
    std::string onednn, plugin; // versions
    std::string isa;    // oneDNN's effective one, which caps the plugin too
    std::string policy; // the plugin's, dnnl_dequant_policy()
    std::string date;   // UTC, ISO 8601
};

machine_t this_machine();

struct isa_name_t {
    const char *name;
    dnnl::cpu_isa isa;
};

/// The names that ONEDNN_MAX_CPU_ISA has, in lower case.
const std::vector<isa_name_t> &isa_names();

} // namespace bench
} // namespace dnnl_dequant

#endif
