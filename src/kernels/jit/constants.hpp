#ifndef KERNELS_JIT_CONSTANTS_HPP
#define KERNELS_JIT_CONSTANTS_HPP

#include <utility>
#include <vector>

#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"

namespace dnnl_dequant {

/// Constants of generated code, in registers while there are any.
///
/// The first constants that code asks for get registers. The others are read
/// from memory at each use. The list of constants is known only after the code
/// that uses them is generated. So load() is generated behind that code, and
/// runs before it.
template <isa_t isa>
class jit_constants_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using lanes_t = jit_generator_t::lanes_t;

    /// Registers first_vmm to the last are free for constants.
    jit_constants_t(jit_generator_t &host, int first_vmm)
        : h_(host)
        , next_(first_vmm) {}

    /// Calls use(operand), a register or the address of a whole vector.
    template <typename use_t>
    void with(const lanes_t &lanes, use_t &&use) {
        for (const auto &[held, vmm] : held_)
            if (held == lanes) return use(vmm_t(vmm));
        if (next_ >= jit_isa_t<isa>::vmm_count) return use(h_.constant(lanes));
        held_.emplace_back(lanes, next_++);
        use(vmm_t(held_.back().second));
    }
    template <typename use_t>
    void with(uint32_t lane, use_t &&use) {
        with(jit_generator_t::same_lanes(lane), std::forward<use_t>(use));
    }

    /// From now on in a register that is not among those, until load() at once.
    void hold(const lanes_t &lanes, const vmm_t &vmm) {
        held_.emplace_back(lanes, vmm.getIdx());
    }

    void load() {
        for (const auto &[lanes, vmm] : held_)
            h_.vmovups(vmm_t(vmm), h_.constant(lanes));
    }

private:
    jit_generator_t &h_;
    int next_;
    std::vector<std::pair<lanes_t, int>> held_;
};

} // namespace dnnl_dequant

#endif
