#include "kernels/elementwise/jit_function.hpp"

#include "base/bits.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

template <isa_t isa>
class emitter_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    const Opmask k_lanes {5};

    emitter_t(jit_generator_t &host, jit_constants_t<isa> &constants)
        : h_(host)
        , constants_(constants) {}

    void emit(operation_t operation, const vmm_t &d, const vmm_t &a,
            const Operand &b) {
        switch (operation) {
        case operation_t::load: return h_.vmovups(d, b);
        case operation_t::add: return h_.vaddps(d, a, b);
        case operation_t::subtract: return h_.vsubps(d, a, b);
        case operation_t::multiply: return h_.vmulps(d, a, b);
        case operation_t::divide: return h_.vdivps(d, a, b);
        case operation_t::fma: return h_.vfmadd213ps(d, a, b);
        case operation_t::fnma: return h_.vfnmadd231ps(d, a, b);
        // Both answer with the second operand if one is NaN or both are zeros.
        case operation_t::min: return h_.vminps(d, d, a);
        case operation_t::max: return h_.vmaxps(d, d, a);
        case operation_t::absolute:
            return with(
                    0x7fffffffu, [&](const Operand &x) { h_.vandps(d, a, x); });
        case operation_t::less_absolute:
            return with(
                    0x80000000u, [&](const Operand &x) { h_.vorps(d, a, x); });
        case operation_t::nearest: return nearest(d, a);
        case operation_t::scale: return scale(d, a, vmm_t(b.getIdx()));
        case operation_t::if_negative:
            return if_negative(d, a, vmm_t(b.getIdx()));
        case operation_t::root: return h_.vsqrtps(d, a);
        }
    }

    template <typename use_t>
    void with(uint32_t lane, use_t &&use) {
        constants_.with(lane, std::forward<use_t>(use));
    }

private:
    void nearest(const vmm_t &d, const vmm_t &a) {
        if constexpr (is_avx512) h_.vrndscaleps(d, a, 0);
        else h_.vroundps(d, a, 0);
    }

    // Without scalef it multiplies by two powers of 2, and only the second
    // product rounds. A NaN's exponent does not matter, since d is NaN as well.
    void scale(const vmm_t &d, const vmm_t &a, const vmm_t &scratch) {
        constexpr uint8_t not_less_equal = 0x16; // true of a NaN
        const uint32_t vanishing = bits_of_f32(vanishing_exponent);
        if constexpr (is_avx512) {
            with(vanishing, [&](const Operand &x) {
                h_.vcmpps(k_lanes, a, x, not_less_equal);
            });
            h_.vscalefps(d | k_lanes | util::T_z, d, a);
        } else {
            with(vanishing, [&](const Operand &x) {
                h_.vcmpps(scratch, a, x, not_less_equal);
            });
            h_.vandps(d, d, scratch);
            h_.vcvtps2dq(a, a);
            h_.vpsrad(scratch, a, 1);
            h_.vpsubd(a, a, scratch);
            times_power(d, scratch);
            times_power(d, a);
        }
    }

    void times_power(const vmm_t &d, const vmm_t &exponent) {
        with(127u, [&](const Operand &x) { h_.vpaddd(exponent, exponent, x); });
        h_.vpslld(exponent, exponent, 23);
        h_.vmulps(d, d, exponent);
    }

    void if_negative(const vmm_t &d, const vmm_t &a, const vmm_t &b) {
        if constexpr (is_avx512) {
            h_.vpmovd2m(k_lanes, b);
            h_.vmovaps(d | k_lanes, a);
        } else {
            h_.vblendvps(d, d, a, b);
        }
    }

    jit_generator_t &h_;
    jit_constants_t<isa> &constants_;
};

} // namespace

template <isa_t isa>
void emit_function(jit_generator_t &host, jit_constants_t<isa> &constants,
        const program_t &program,
        const std::vector<function_registers_t<isa>> &vectors) {
    emitter_t<isa> emitter(host, constants);
    for (const instruction_t &i : program)
        for (const auto &registers : vectors) {
            const auto at = [&](int index) {
                return registers[static_cast<size_t>(index)];
            };
            if (i.b >= 0) emitter.emit(i.operation, at(i.d), at(i.a), at(i.b));
            else
                emitter.with(bits_of_f32(i.constant), [&](const Operand &x) {
                    emitter.emit(i.operation, at(i.d), at(i.a), x);
                });
        }
}

template void emit_function<isa_avx512_core>(jit_generator_t &,
        jit_constants_t<isa_avx512_core> &, const program_t &,
        const std::vector<function_registers_t<isa_avx512_core>> &);
template void emit_function<isa_avx2>(jit_generator_t &,
        jit_constants_t<isa_avx2> &, const program_t &,
        const std::vector<function_registers_t<isa_avx2>> &);

} // namespace dnnl_dequant
