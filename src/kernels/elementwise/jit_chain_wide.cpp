// The parts of a chain that are beyond the integers that f32 holds. Zero points
// of 32 bits, and those added to a dst of 32 bits, go by f64, which holds all
// sums. Integers of 32 bits are subtracted in two parts, or stored as they are.

#include "kernels/elementwise/jit_chain_steps.hpp"

#include <cmath>

#include "base/bits.hpp"
#include "base/convert.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

template <isa_t isa>
using half_t = std::conditional_t<isa == isa_avx512_core, Ymm, Xmm>;

template <isa_t isa, typename Vmm>
void take_upper(jit_generator_t &h, const Vmm &to, const Vmm &from) {
    if constexpr (isa == isa_avx512_core)
        h.vextractf64x4(Ymm(to.getIdx()), from, 1);
    else h.vextractf128(Xmm(to.getIdx()), from, 1);
}

template <isa_t isa, typename Vmm>
void put_upper(jit_generator_t &h, const Vmm &to, const Vmm &half) {
    if constexpr (isa == isa_avx512_core)
        h.vinsertf64x4(to, to, Ymm(half.getIdx()), 1);
    else h.vinsertf128(to, to, Xmm(half.getIdx()), 1);
}

} // namespace

// The differences of the parts are exact; only their sum rounds.
template <isa_t isa>
void chain_steps_t<isa>::subtract_parts(
        const vmm_t &value, const chain_input_t &input) {
    const bool value_has_high = state_.has_high;
    const bool direct_wide = is_direct_wide(input);
    if (direct_wide) {
        const auto &p = port(input.port);
        lanes_.load_parts(vmm_operand, vmm_a, p.format, address(p),
                extent_ == extent_t::masked);
        h_.vsubps(value, value, vmm_operand);
    } else {
        with({input.port, -1},
                [&](const Operand &x) { h_.vsubps(value, value, x); });
    }
    const auto subtract_high = [&](const vmm_t &from) {
        if (direct_wide) h_.vsubps(from, from, vmm_a);
        else if (input.high >= 0)
            with({input.high, -1},
                    [&](const Operand &x) { h_.vsubps(from, from, x); });
    };
    if (!value_has_high) {
        subtract_high(value);
        return;
    }
    subtract_high(vmm_high);
    h_.vaddps(value, value, vmm_high);
}

template <isa_t isa>
bool chain_steps_t<isa>::is_direct_wide(const chain_input_t &input) const {
    const auto &p = port(input.port);
    return p.access == access_t::direct && p.format.is_wide();
}

// To a register; by parts: vmm_high has the rest, where there is one.
// The type that the sum of an offset becomes: of the rounding behind it, dst's
// where there is none.
template <isa_t isa>
data_type_t chain_steps_t<isa>::range_after(size_t step) const {
    return step < desc_.steps.size() ? desc_.steps[step].step.type
                                     : desc_.range;
}

// Emits the offset, the bounds of its sum, and the rounding behind. Returns the
// last step that is done.
template <isa_t isa>
size_t chain_steps_t<isa>::offset_wide(const vmm_t &value, size_t step) {
    size_t end = step + 1;
    while (end < desc_.steps.size()
            && desc_.steps[end].step.kind == step_kind_t::saturate)
        ++end;
    clear_nan(value);
    to_nearest(value);
    load(vmm_operand, desc_.steps[step].input, true);
    const vmm_t &upper = vmm_wide_[0];
    add_half(upper, value, true);
    add_half(value, value, false);
    bound_half(upper, step, end);
    bound_half(value, step, end);
    const bool is_last = end >= desc_.steps.size();
    narrow_halves(value, upper,
            is_last && desc_.as_integers ? desc_.dst : data_type_t::f32);
    state_.has_high = false;
    state_.clean = true;
    state_.rounded = data_type_t::undef;
    return is_last ? end - 1 : end;
}

// One half of the lanes and their zero points, whose parts are in vmm_operand
// and, maybe, vmm_high, as f64.
template <isa_t isa>
void chain_steps_t<isa>::add_half(
        const vmm_t &to, const vmm_t &value, bool upper) {
    const auto as_f64 = [&](const vmm_t &into, const vmm_t &from) {
        if (upper) take_upper<isa>(h_, vmm_a, from);
        h_.vcvtps2pd(into, half_t<isa>(upper ? vmm_a.getIdx() : from.getIdx()));
    };
    as_f64(to, value);
    for (const vmm_t &part : {vmm_operand, vmm_high}) {
        if (part.getIdx() == vmm_high.getIdx() && !state_.has_high) break;
        as_f64(vmm_wide_[1], part);
        h_.vaddpd(to, to, vmm_wide_[1]);
    }
}

// Within the bounds of saturates, then within the type's.
template <isa_t isa>
void chain_steps_t<isa>::bound_half(const vmm_t &to, size_t step, size_t end) {
    for (size_t i = step + 1; i < end; ++i) {
        const step_t &bounds = desc_.steps[i].step;
        clamp_f64(to, static_cast<double>(std::trunc(bounds.lower)),
                static_cast<double>(std::trunc(bounds.upper)));
    }
    const int_range_t range = range_of(range_after(end));
    clamp_f64(to, static_cast<double>(range.lowest),
            static_cast<double>(range.highest));
}

template <isa_t isa>
void chain_steps_t<isa>::clamp_f64(
        const vmm_t &value, double lower, double upper) {
    lanes_.constants().with(jit_generator_t::doubles(lower),
            [&](const Operand &x) { h_.vmaxpd(value, value, x); });
    lanes_.constants().with(jit_generator_t::doubles(upper),
            [&](const Operand &x) { h_.vminpd(value, value, x); });
}

// Turns both halves into lanes of 32 bits: f32, or integers of dst's type.
template <isa_t isa>
void chain_steps_t<isa>::narrow_halves(
        const vmm_t &value, const vmm_t &upper, data_type_t to) {
    const bool by_sign = !is_avx512 && to == data_type_t::u32;
    for (const vmm_t &v : {value, upper}) {
        const half_t<isa> half(v.getIdx());
        if (by_sign)
            lanes_.constants().with(jit_generator_t::doubles(0x1p31),
                    [&](const Operand &x) { h_.vsubpd(v, v, x); });
        if (to == data_type_t::f32) h_.vcvtpd2ps(half, v);
        else if (to == data_type_t::u32 && !by_sign) h_.vcvtpd2udq(half, v);
        else h_.vcvtpd2dq(half, v);
    }
    put_upper<isa>(h_, value, upper);
    if (by_sign)
        lanes_.constants().with(0x80000000u,
                [&](const Operand &x) { h_.vxorps(value, value, x); });
}

// Joins the two parts of a staged value.
template <isa_t isa>
void chain_steps_t<isa>::join_parts(const vmm_t &value) {
    constexpr int low_bits = 10;
    load(value, desc_.src, true);
    lanes_.constants().with(bits_of_f32(1.f / (1 << low_bits)),
            [&](const Operand &x) { h_.vmulps(vmm_high, vmm_high, x); });
    h_.vcvtps2dq(value, value);
    h_.vcvtps2dq(vmm_high, vmm_high);
    h_.vpslld(vmm_high, vmm_high, low_bits);
    h_.vpaddd(value, value, vmm_high);
    state_.has_high = false;
}

// Copies s32 to u32, or u32 to s32.
template <isa_t isa>
void chain_steps_t<isa>::copy_integers(const vmm_t &value) {
    if (desc_.src.high < 0)
        lanes_.load_bits(value, address(port(desc_.src.port)),
                extent_ == extent_t::masked);
    else join_parts(value);
    if (desc_.dst == data_type_t::u32)
        lanes_.constants().with(
                0u, [&](const Operand &x) { h_.vpmaxsd(value, value, x); });
    else
        lanes_.constants().with(0x7fffffffu,
                [&](const Operand &x) { h_.vpminud(value, value, x); });
}

template class chain_steps_t<isa_avx512_core>;
template class chain_steps_t<isa_avx2>;

} // namespace dnnl_dequant
