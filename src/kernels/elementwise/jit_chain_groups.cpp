// The order in which a chain is computed: of one vector, or of several side by
// side.

#include "kernels/elementwise/jit_chain_steps.hpp"

#include <algorithm>

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr size_t long_function = 12; // instructions

} // namespace

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
    for (uint32_t v = 0; v < count; v += group_)
        if (group_ == 1)
            compute(values[v], offset + v * simd_w, extent_t::full);
        else
            compute_side_by_side(values + v, std::min(group_, count - v),
                    offset + v * simd_w);
}

template <isa_t isa>
void chain_steps_t<isa>::compute_side_by_side(
        const vmm_t *values, uint32_t count, uint32_t offset) {
    const vmm_t held = vmm_held;
    const auto each = [&](auto &&emit) {
        const state_t before = state_;
        for (uint32_t v = 0; v < count; ++v) {
            state_ = before;
            offset_ = offset + v * simd_w;
            vmm_held = v == 0 ? held : held_of(v);
            emit(values[v]);
        }
    };
    extent_ = extent_t::full;
    each([&](const vmm_t &value) { begin(value); });
    for (size_t i = 0; i < desc_.steps.size(); ++i)
        if (desc_.steps[i].step.kind == step_kind_t::function)
            apply_function(desc_.steps[i].step, values, count);
        else each([&](const vmm_t &value) { step(value, i); });
    each([&](const vmm_t &value) { prepare_for_dst(value); });
    vmm_held = held;
}

// With a long function, which takes three more registers for each vector, there
// is room for fewer vectors, but for those that are put aside too. Short ones
// to f32 take 1.1 of the time side by side.
template <isa_t isa>
uint32_t chain_steps_t<isa>::choose_group() const {
    if (desc_.as_integers || ends_in_codes()
            || (desc_.src_by_parts && is_in_parts(desc_.src))
            || std::any_of(desc_.steps.begin(), desc_.steps.end(),
                    [this](const chain_step_t &s) {
        return is_wide_offset(s) || is_pushed_in_parts(s);
    }))
        return 1;
    if (!has(step_kind_t::function))
        return is_avx512 && !holds_values() ? max_group : 1;
    if (std::none_of(desc_.steps.begin(), desc_.steps.end(),
                [](const chain_step_t &s) {
        return make_function(s.step).size() >= long_function;
    }))
        return 1;
    if (is_avx512) return 4;
    return narrows(desc_.dst) ? 1 : 2;
}

// Its other part has one register for all vectors.
template <isa_t isa>
bool chain_steps_t<isa>::is_pushed_in_parts(const chain_step_t &s) const {
    return s.step.kind == step_kind_t::push && s.by_parts
           && is_in_parts(s.input);
}

template <isa_t isa>
bool chain_steps_t<isa>::has(step_kind_t kind) const {
    return std::any_of(desc_.steps.begin(), desc_.steps.end(),
            [kind](const chain_step_t &s) { return s.step.kind == kind; });
}

template <isa_t isa>
bool chain_steps_t<isa>::holds_values() const {
    return has(step_kind_t::push) || has(step_kind_t::dup);
}

template <isa_t isa>
void chain_steps_t<isa>::apply_function(
        const step_t &step, const vmm_t *values, uint32_t count) {
    std::vector<function_registers_t<isa>> vectors;
    for (uint32_t v = 0; v < count; ++v) {
        const auto &[first, second, third] = function_vmms[v];
        vectors.push_back(
                {values[v], vmm_t(first), vmm_t(second), vmm_t(third)});
    }
    emit_function(h_, lanes_.constants(), make_function(step), vectors);
    state_.has_high = false;
    state_.rounded = data_type_t::undef;
}

template <isa_t isa>
int chain_steps_t<isa>::first_free_vmm() const {
    if (group_ == max_group) return vmm_others[max_group - 2].getIdx() + 1;
    if (group_ > 1)
        return first_held_vmm
               + (holds_values() ? static_cast<int>(group_) - 1 : 0);
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
