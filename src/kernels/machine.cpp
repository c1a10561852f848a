#include "kernels/machine.hpp"

#include <algorithm>

#include <unistd.h>

#include "base/text.hpp"

namespace dnnl_dequant {

namespace {

// Cascade Lake (2 of its cores, 2026-11): ordinary stores of long stretches are
// prefetched by the hardware, and take 0.8 to 0.9 of the time of streaming ones
// even where dst is seven times the last cache. Panels: 0.6 to 0.8 of tiles.
constexpr machine_policy_t cascade_lake {
        "Cascade Lake", far_stores_t::ordinary, 0, true, false, false};
// Zen 3 (2026-11-22): a line that is not read before it is written is bandwidth
// gained; 4096 x 4096 u8 to f32 took twice as long by panels.
constexpr machine_policy_t zen_3 {
        "Zen 3", far_stores_t::by_buffer, 0, false, true, false};
// Zen 4 (2026-11-24): 4096 x 4096 u8 to bf16 over a copying loop, by the buffer
// and at once 1.53 and 1.02, u16 to f32 1.81 and 0.92, u4 to bf16 with a scale
// a column 1.68 and 1.16. 2048 and 4096 bytes ahead are equal, 512 lose.
// Lines of sixteen columns whose distance is a multiple of 4 KiB meet in one
// set of the first cache, of eight ways, and push each other out before they
// are used: transposed u8 to f32 1.68 with them there and 1.23 without, to bf16
// 2.74 and 2.16, in groups of 128 3.10 and 2.46.
constexpr machine_policy_t zen_4 {
        "Zen 4", far_stores_t::at_once, 4096, false, true, true};
constexpr machine_policy_t unknown {
        "unknown", far_stores_t::by_buffer, 0, false, false, false};

// An Intel or AMD CPU that nobody measured is taken for the nearest that
// somebody did.
const machine_policy_t &policy_of(const cpu_t &cpu) {
    switch (cpu.vendor) {
    case cpu_vendor_t::intel: return cascade_lake;
    case cpu_vendor_t::amd: return cpu.has_avx512 ? zen_4 : zen_3;
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

machine_t &machine() {
    static machine_t machine {policy_of(this_cpu()), last_cache()};
    return machine;
}

} // namespace

const std::vector<machine_policy_t> &machine_policies() {
    static const std::vector<machine_policy_t> policies {
            cascade_lake, zen_3, zen_4, unknown};
    return policies;
}

const machine_t &this_machine() {
    return machine();
}

void set_machine(const machine_t &other) {
    machine() = other;
}

std::string to_string(const machine_t &machine) {
    return text("policy:", machine.policy.name,
            ",last_cache:", machine.last_cache_bytes);
}

} // namespace dnnl_dequant
