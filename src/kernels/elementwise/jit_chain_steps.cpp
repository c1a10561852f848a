#include "kernels/elementwise/jit_chain_steps.hpp"

#include "base/bits.hpp"
#include "base/convert.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

const Reg64 pointer_registers[chain_desc_t::max_pointers]
        = {util::rsi, util::r8, util::r9, util::r10, util::r11, util::r12,
                util::r13, util::r14, util::r15, util::rbx};

data_type_t small_float_of(const chain_desc_t &desc) {
    for (const auto &port : desc.ports)
        if (port.access == access_t::direct && port.format.is_small_float())
            return port.format.type;
    return data_type_t::undef;
}

int count_constants(const chain_desc_t &desc) {
    int count = 0;
    for (const auto &port : desc.ports)
        count += port.access == access_t::constant;
    return count;
}

bool is_wide(const chain_desc_t &desc) {
    return std::any_of(desc.steps.begin(), desc.steps.end(), is_wide_offset);
}

step_t bounds_of(data_type_t type) {
    const int_range_t range = range_of(type);
    step_t bounds {step_kind_t::clamp};
    bounds.lower = static_cast<float>(range.lowest);
    bounds.upper = static_cast<float>(range.highest);
    return bounds;
}

bool is_bf16(float value) {
    return (bits_of_f32(value) & 0xffffu) == 0;
}

} // namespace

template <isa_t isa>
chain_steps_t<isa>::chain_steps_t(
        jit_generator_t &host, const chain_desc_t &desc)
    : h_(host)
    , desc_(desc)
    , group_(choose_group())
    , first_constant_vmm_(first_free_vmm() + (is_wide(desc) ? 2 : 0))
    , resident_(choose_resident())
    , lanes_(host, first_constant_vmm_ + resident_, small_float_of(desc))
    , vmm_wide_ {
              vmm_t(first_constant_vmm_ - 2), vmm_t(first_constant_vmm_ - 1)} {
    if (ends_in_codes())
        to_small_ = std::make_unique<jit_to_small_float_t<isa>>(host, desc.dst);
}

// Small floats need registers too.
template <isa_t isa>
int chain_steps_t<isa>::choose_resident() const {
    const int needed = small_float_of(desc_) == data_type_t::undef
                               ? 0
                               : jit_small_float_t<isa>::vmm_needed;
    const int room = jit_isa_t<isa>::vmm_count - first_constant_vmm_ - needed;
    return std::max(std::min({count_constants(desc_), max_resident, room}), 0);
}

template <isa_t isa>
const Reg64 &chain_steps_t<isa>::pointer(const chain_port_t &port) const {
    return pointer_registers[port.place];
}

template <isa_t isa>
RegExp chain_steps_t<isa>::stack_slot(int place) {
    return util::rsp + static_cast<size_t>(place * slot_bytes);
}

template <isa_t isa>
Address chain_steps_t<isa>::constant_address(const chain_port_t &p) const {
    constexpr int pitch = chain_desc_t::constant_rows * 4;
    return h_.ptr[reg_constants + static_cast<size_t>(p.place * pitch)];
}

template <isa_t isa>
RegExp chain_steps_t<isa>::address(const chain_port_t &p) const {
    if (extent_ == extent_t::on_stack && p.access == access_t::direct)
        return stack_slot(p.place);
    return pointer(p) + bytes(p, offset_);
}

template <isa_t isa>
void chain_steps_t<isa>::load_row() {
    for (const auto &p : desc_.ports)
        if (p.access == access_t::constant && p.place < resident_)
            h_.vbroadcastss(resident(p), constant_address(p));
}

// Narrowing bounds by itself what the conversion to 32 bits has kept: all but
// what is beyond those, and NaN, which become the least of them.
template <isa_t isa>
bool chain_steps_t<isa>::stores_clamped(const step_t &step) const {
    const step_t dst = bounds_of(desc_.dst);
    return narrows(desc_.dst) && desc_.range == desc_.dst
           && step.kind == step_kind_t::clamp && step.lower == dst.lower
           && step.upper == dst.upper;
}

// NaN stays, being the second operand.
template <isa_t isa>
void chain_steps_t<isa>::bound_above(const vmm_t &value) {
    lanes_.constants().with(bits_of_f32(bounds_of(desc_.dst).upper),
            [&](const Operand &x) { h_.vmovups(vmm_a, x); });
    h_.vminps(value, vmm_a, value);
}

template <isa_t isa>
void chain_steps_t<isa>::prepare_for_dst(const vmm_t &value) {
    if (to_small_)
        return to_small_->convert(
                value, {vmm_held, vmm_high, vmm_operand, vmm_a});
    if (!is_integer(desc_.dst)) return;
    if (!is_bounded()) {
        clear_nan(value);
        if (desc_.range != desc_.dst) clamp(value, bounds_of(desc_.range));
        else if (narrows(desc_.dst)) bound_above(value);
    }
    if (narrows(desc_.dst)) h_.vcvtps2dq(value, value);
}

// The last step keeps to dst's range.
template <isa_t isa>
bool chain_steps_t<isa>::is_bounded() const {
    if (desc_.steps.empty()) return false;
    const step_t &last = desc_.steps.back().step;
    const step_t dst = bounds_of(desc_.range);
    const auto within = [&](const step_t &bounds) {
        return bounds.lower >= dst.lower && bounds.upper <= dst.upper;
    };
    if (last.kind == step_kind_t::round)
        return is_integer(last.type) && within(bounds_of(last.type));
    return last.kind == step_kind_t::clamp && within(last);
}

// Returns the rounding that the value needs before it is stored as bf16.
template <isa_t isa>
float_rounding_t chain_steps_t<isa>::rounding() const {
    if (state_.rounded == data_type_t::bf16) return float_rounding_t::none;
    return state_.clean ? float_rounding_t::plain : float_rounding_t::with_nan;
}

template <isa_t isa>
void chain_steps_t<isa>::apply(const vmm_t &value, const chain_step_t &s) {
    const data_type_t before = state_.rounded;
    state_.rounded = data_type_t::undef;
    // A NaN of the operand's may be the result.
    if (has_operand(s.step.kind) && s.step.kind != step_kind_t::push)
        state_.clean = state_.clean && !desc_.payloads;
    switch (s.step.kind) {
    case step_kind_t::subtract:
        if (s.by_parts) return subtract_parts(value, s.input);
        return with(
                s.input, [&](const Operand &x) { h_.vsubps(value, value, x); });
    case step_kind_t::multiply:
        return with(
                s.input, [&](const Operand &x) { h_.vmulps(value, value, x); });
    case step_kind_t::divide:
        return with(
                s.input, [&](const Operand &x) { h_.vdivps(value, value, x); });
    case step_kind_t::add:
        return with(
                s.input, [&](const Operand &x) { h_.vaddps(value, value, x); });
    case step_kind_t::clamp:
        clamp(value, s.step);
        state_.clean = true;
        if (is_bf16(s.step.lower) && is_bf16(s.step.upper))
            state_.rounded = before;
        break;
    case step_kind_t::saturate: saturate(value, s.step); break;
    case step_kind_t::multiply_reciprocal:
        return with(s.input, [&](const Operand &x) {
            lanes_.constants().with(bits_of_f32(1.f),
                    [&](const Operand &one) { h_.vmovups(vmm_a, one); });
            h_.vdivps(vmm_a, vmm_a, x);
            h_.vmulps(value, value, vmm_a);
        });
    case step_kind_t::offset: return offset(value, s.input);
    case step_kind_t::nearest: return to_nearest(value);
    case step_kind_t::round:
        if (is_integer(s.step.type)) return quantize(value, s.step.type);
        return round(value, s.step.type, before);
    case step_kind_t::push:
    case step_kind_t::pop_add:
    case step_kind_t::dup:
    case step_kind_t::pop_multiply: return apply_held(value, s);
    case step_kind_t::function: apply_function(s.step, &value, 1); break;
    }
}

// Steps that set a value aside, or join it with the one set aside.
template <isa_t isa>
void chain_steps_t<isa>::apply_held(const vmm_t &value, const chain_step_t &s) {
    if (s.step.kind == step_kind_t::push || s.step.kind == step_kind_t::dup) {
        h_.vmovaps(vmm_held, value);
        state_.held_clean = state_.clean;
        if (s.step.kind == step_kind_t::dup) return;
        load(value, s.input, s.by_parts);
        state_.clean = !desc_.payloads;
        return;
    }
    if (s.step.kind == step_kind_t::pop_add) h_.vaddps(value, vmm_held, value);
    else h_.vmulps(value, vmm_held, value);
    state_.clean = state_.clean && state_.held_clean;
}

// `before`: what the value was rounded to already.
template <isa_t isa>
void chain_steps_t<isa>::round(
        const vmm_t &value, data_type_t type, data_type_t before) {
    const bool is_bf16 = type == data_type_t::bf16;
    if (!is_bf16 || before != type)
        lanes_.round(value, type, rounding(), vmm_a);
    state_.clean = state_.clean || is_bf16;
    state_.rounded = type;
}

// NaN becomes 0.
template <isa_t isa>
void chain_steps_t<isa>::clear_nan(const vmm_t &value) {
    if constexpr (is_avx512) {
        constexpr uint32_t nan_to_zero = 0x88; // one answer a kind of NaN
        lanes_.constants().with(nan_to_zero,
                [&](const Operand &x) { h_.vfixupimmps(value, value, x, 0); });
    } else {
        constexpr uint8_t ordered = 7;
        h_.vcmpps(vmm_a, value, value, ordered);
        h_.vandps(value, value, vmm_a);
    }
}

template <isa_t isa>
void chain_steps_t<isa>::to_nearest(const vmm_t &value) {
    constexpr uint8_t nearest = 0;
    if constexpr (is_avx512) h_.vrndscaleps(value, value, nearest);
    else h_.vroundps(value, value, nearest);
}

// Integers of 16 bits at most: what lies beyond the bounds is beyond any range
// with a zero point added too, and within them all sums are exact.
template <isa_t isa>
void chain_steps_t<isa>::offset(
        const vmm_t &value, const chain_input_t &input) {
    constexpr float far = 0x1p22f;
    step_t bounds {step_kind_t::clamp};
    bounds.lower = -far;
    bounds.upper = far;
    clear_nan(value);
    clamp(value, bounds);
    to_nearest(value);
    with(input, [&](const Operand &x) { h_.vaddps(value, value, x); });
    state_.clean = true;
}

// To the nearest integer of the type's range, 0 for NaN and no zero negative:
// what comes next takes it for an exact integer.
template <isa_t isa>
void chain_steps_t<isa>::quantize(const vmm_t &value, data_type_t type) {
    clear_nan(value);
    clamp(value, bounds_of(type));
    to_nearest(value);
    lanes_.constants().with(
            0u, [&](const Operand &x) { h_.vaddps(value, value, x); });
    state_.clean = true;
    state_.has_high = false;
}

// Both instructions answer with the bound if the value is NaN or both are
// zeros.
template <isa_t isa>
void chain_steps_t<isa>::clamp(const vmm_t &value, const step_t &step) {
    lanes_.constants().with(bits_of_f32(step.lower),
            [&](const Operand &x) { h_.vmaxps(value, value, x); });
    lanes_.constants().with(bits_of_f32(step.upper),
            [&](const Operand &x) { h_.vminps(value, value, x); });
}

// Both instructions answer with the value if it is NaN or both are zeros.
template <isa_t isa>
void chain_steps_t<isa>::saturate(const vmm_t &value, const step_t &step) {
    lanes_.constants().with(bits_of_f32(step.lower),
            [&](const Operand &x) { h_.vmovups(vmm_a, x); });
    h_.vmaxps(value, vmm_a, value);
    lanes_.constants().with(bits_of_f32(step.upper),
            [&](const Operand &x) { h_.vmovups(vmm_a, x); });
    h_.vminps(value, vmm_a, value);
}

// True as long as no step needs the sum.
template <isa_t isa>
bool chain_steps_t<isa>::is_in_parts(const chain_input_t &input) const {
    return input.high >= 0 || is_direct_wide(input);
}

template <isa_t isa>
void chain_steps_t<isa>::load(
        const vmm_t &v, const chain_input_t &input, bool by_parts) {
    const auto &p = port(input.port);
    const bool tail = extent_ == extent_t::masked;
    state_.has_high = by_parts && is_in_parts(input);
    if (p.access != access_t::direct) {
        load_single(v, input.port);
        if (input.high < 0) return;
        load_single(vmm_high, input.high);
        if (!by_parts) h_.vaddps(v, v, vmm_high);
    } else if (state_.has_high) {
        lanes_.load_parts(v, vmm_high, p.format, address(p), tail);
    } else {
        lanes_.load(v, p.format, address(p), tail, vmm_a, vmm_high);
    }
}

// A constant or staged one.
template <isa_t isa>
void chain_steps_t<isa>::load_single(const vmm_t &v, int p) {
    const auto &from = port(p);
    if (from.access == access_t::staged) h_.vmovups(v, h_.ptr[address(from)]);
    else if (from.place < resident_) h_.vmovaps(v, resident(from));
    else h_.vbroadcastss(v, constant_address(from));
}

template class chain_steps_t<isa_avx512_core>;
template class chain_steps_t<isa_avx2>;

} // namespace dnnl_dequant
