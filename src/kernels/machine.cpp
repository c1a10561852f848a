#include "kernels/machine.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace dnnl_dequant {

namespace {

#define X(identifier, name, ...)                 \
    constexpr machine_policy_t identifier = [] { \
        machine_policy_t policy {name};          \
        __VA_ARGS__                              \
        return policy;                           \
    }();
#include "kernels/machine.def"
#undef X

constexpr unsigned first_family_of_zen_5 = 0x1a;

const machine_policy_t &policy_of(const cpu_t &cpu) {
    switch (cpu.vendor) {
    case cpu_vendor_t::intel: return cpu.has_amx_bf16 ? amx_xeon : cascade_lake;
    case cpu_vendor_t::amd:
        if (!cpu.has_avx512) return zen_3;
        return cpu.family < first_family_of_zen_5 ? zen_4 : zen_5;
    case cpu_vendor_t::other: break;
    }
    return unknown;
}

dim_t last_cache() {
    dim_t bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    bytes = std::max<dim_t>(
            ::sysconf(_SC_LEVEL3_CACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
    constexpr dim_t fallback = 32 << 20;
    return bytes > 0 ? bytes : fallback;
}

// Returns the policy that the environment names, or the CPU's own.
const machine_policy_t &wanted_policy() {
    const char *name = environment("DNNL_DEQUANT_POLICY");
    if (name == nullptr) return policy_of(this_cpu());
    std::string names;
    for (const auto &policy : machine_policies()) {
        if (std::strcmp(policy.name, name) == 0) return policy;
        names += text(names.empty() ? "" : ", ", policy.name);
    }
    log_refusal(log_check, "DNNL_DEQUANT_POLICY",
            text("'", name, "' is no policy, expected one of: ", names));
    return policy_of(this_cpu());
}

dim_t second_cache() {
    dim_t bytes = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    constexpr dim_t least = 1 << 20;
    return std::max(bytes, least);
}

machine_t described(const machine_policy_t &policy) {
    return {policy, std::min(last_cache(), policy.most_last_cache_bytes),
            second_cache()};
}

machine_t &machine() {
    static machine_t machine = described(wanted_policy());
    return machine;
}

} // namespace

const std::vector<machine_policy_t> &machine_policies() {
    static const std::vector<machine_policy_t> policies {
#define X(identifier, ...) identifier,
#include "kernels/machine.def"
#undef X
    };
    return policies;
}

isa_t isa_of_this_cpu(isa_t effective) {
    const cpu_t cpu = this_cpu();
    unsigned isa = effective;
    if (has(effective, isa_avx512_core_vnni) && cpu.has_avx512_vbmi)
        isa |= isa_avx512_core_vbmi;
    if (has(effective, isa_amx_int8) && cpu.has_amx_bf16 && cpu.has_avx512_vbmi)
        isa |= isa_amx_bf16;
    return static_cast<isa_t>(isa);
}

const machine_t &this_machine() {
    return machine();
}

void set_machine(const machine_t &other) {
    machine() = other;
}

std::string to_string(const machine_t &machine) {
    return text("policy:", machine.policy.name,
            ",last_cache:", machine.last_cache_bytes,
            ",second_cache:", machine.second_cache_bytes);
}

} // namespace dnnl_dequant
