// The order in which a chain is computed: of one vector, or of several side by
// side.

#include "kernels/elementwise/jit_chain_steps.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

template <isa_t isa>
void chain_steps_t<isa>::compute(
        const vmm_t &value, uint32_t offset, extent_t extent) {
    offset_ = offset;
    extent_ = extent;
    if (desc_.as_integers && desc_.steps.empty()) return copy_integers(value);
    begin(value);
    for (size_t i = 0; i < desc_.steps.size(); ++i) {
        if (is_wide_offset(desc_.steps[i])) i = offset_wide(value, i);
        else step(value, i);
    }
    if (!desc_.as_integers) prepare_for_dst(value);
}

template <isa_t isa>
void chain_steps_t<isa>::compute(
        const vmm_t *values, uint32_t count, uint32_t offset) {
    if (!is_interleaved()) {
        for (uint32_t v = 0; v < count; ++v)
            compute(values[v], offset + v * simd_w, extent_t::full);
        return;
    }
    const auto each = [&](auto &&emit) {
        const state_t before = state_;
        for (uint32_t v = 0; v < count; ++v) {
            state_ = before;
            offset_ = offset + v * simd_w;
            emit(values[v]);
        }
    };
    extent_ = extent_t::full;
    each([&](const vmm_t &value) { begin(value); });
    for (size_t i = 0; i < desc_.steps.size(); ++i)
        each([&](const vmm_t &value) { step(value, i); });
    each([&](const vmm_t &value) { prepare_for_dst(value); });
}

// Nothing but the value goes from one step to the next. (A function is long
// enough by itself, and so is its code.)
template <isa_t isa>
bool chain_steps_t<isa>::is_interleaved() const {
    if (!is_avx512 || desc_.as_integers || ends_in_codes()
            || (desc_.src_by_parts && is_in_parts(desc_.src)))
        return false;
    return std::none_of(
            desc_.steps.begin(), desc_.steps.end(), [&](const chain_step_t &s) {
        const auto kind = s.step.kind;
        return is_wide_offset(s) || kind == step_kind_t::push
               || kind == step_kind_t::dup || kind == step_kind_t::function;
    });
}

template <isa_t isa>
int chain_steps_t<isa>::first_free_vmm() const {
    if (is_interleaved()) return vmm_others[max_group - 2].getIdx() + 1;
    return narrows(desc_.dst) ? vmm_order.getIdx() + 1
                              : vmm_others[0].getIdx() + 1;
}

template <isa_t isa>
void chain_steps_t<isa>::begin(const vmm_t &value) {
    state_ = {};
    state_.clean = !desc_.payloads;
    load(value, desc_.src, desc_.src_by_parts);
}

template <isa_t isa>
void chain_steps_t<isa>::step(const vmm_t &value, size_t i) {
    const chain_step_t &s = desc_.steps[i];
    if (i + 1 == desc_.steps.size() && stores_clamped(s.step))
        bound_above(value);
    else apply(value, s);
}

template class chain_steps_t<isa_avx512_core>;
template class chain_steps_t<isa_avx2>;

} // namespace dnnl_dequant
