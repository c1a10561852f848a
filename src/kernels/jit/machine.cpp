#include "kernels/jit/machine.hpp"

#include <algorithm>

#include <unistd.h>

namespace dnnl_dequant {

namespace {

dim_t last_cache() {
    dim_t bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    bytes = std::max<dim_t>(
            ::sysconf(_SC_LEVEL3_CACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
    constexpr dim_t fallback = 32 << 20;
    return bytes > 0 ? bytes : fallback;
}

machine_t read_machine() {
    machine_t machine;
    machine.is_intel = __builtin_cpu_is("intel");
    machine.is_amd = __builtin_cpu_is("amd");
    machine.last_cache_bytes = last_cache();
    return machine;
}

machine_t &machine() {
    static machine_t machine = read_machine();
    return machine;
}

} // namespace

const machine_t &this_machine() {
    return machine();
}

void set_machine(const machine_t &other) {
    machine() = other;
}

} // namespace dnnl_dequant
