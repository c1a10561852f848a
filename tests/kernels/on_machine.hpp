#ifndef KERNELS_ON_MACHINE_HPP
#define KERNELS_ON_MACHINE_HPP

#include <stdexcept>

#include "kernels/machine.hpp"

namespace dnnl_dequant {

/// While it lives, kernels are made as on another machine.
class on_machine_t {
public:
    explicit on_machine_t(const machine_t &machine)
        : before_(this_machine()) {
        set_machine(machine);
    }
    ~on_machine_t() { set_machine(before_); }
    on_machine_t(const on_machine_t &) = delete;
    on_machine_t &operator=(const on_machine_t &) = delete;

private:
    const machine_t before_;
};

/// The policy that was measured on such a CPU.
inline const machine_policy_t &policy_named(const std::string &name) {
    for (const auto &policy : machine_policies())
        if (policy.name == name) return policy;
    throw std::invalid_argument("there is no policy for " + name);
}

/// So small a last cache that whatever is written leaves it.
constexpr dim_t no_cache_bytes = 2;

} // namespace dnnl_dequant

#endif
