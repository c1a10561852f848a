#ifndef KERNELS_JIT_MACHINE_HPP
#define KERNELS_JIT_MACHINE_HPP

#include "base/types.hpp"

namespace dnnl_dequant {

/// What tells CPUs of the same instruction sets apart, as far as a choice
/// between kernels with equal results depends on it.
struct machine_t {
    bool is_intel = false, is_amd = false;
    dim_t last_cache_bytes = 0;

    /// Whether what is read once, and soon, is prefetched into the second cache
    /// and no further.
    bool prefetches_into_l2() const { return is_amd; }
};

/// The one that this runs on, read once, or what a test has set.
const machine_t &this_machine();

/// For tests, before others generate code: kernels as they are made on another
/// machine.
void set_machine(const machine_t &machine);

} // namespace dnnl_dequant

#endif
