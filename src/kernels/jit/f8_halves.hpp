#ifndef KERNELS_JIT_F8_HALVES_HPP
#define KERNELS_JIT_F8_HALVES_HPP

#include "base/data_type.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Returns the lower half of a vector, masked as the vector is.
inline Xbyak::Xmm half_of(const Xbyak::Xmm &v) {
    Xbyak::Xmm half(
            v.isZMM() ? Xbyak::Operand::YMM : Xbyak::Operand::XMM, v.getIdx());
    if (v.getOpmaskIdx() > 0) half.setOpmaskIdx(v.getOpmaskIdx());
    if (v.hasZero()) half.setZero();
    return half;
}

/// Floats of 8 bits to f16, exactly. e5m2 is the upper byte of f16. e4m3's
/// exponent and significand are f16's too, of a number 2^8 times smaller. The
/// CPU converts subnormal f16 to f32 at no cost.
class jit_f8_halves_t {
public:
    jit_f8_halves_t(jit_generator_t &host, data_type_t type)
        : h_(host)
        , type_(type) {}

    static constexpr bool takes(data_type_t type) {
        return type == data_type_t::f8_e5m2 || type == data_type_t::f8_e4m3;
    }
    /// Returns what the halves have to be multiplied by.
    static constexpr float unit_of(data_type_t type) {
        return type == data_type_t::f8_e4m3 ? 256.f : 1.f;
    }

    /// Loads a vector of f32, which count in units.
    /// @param bytes One for each lane, in memory or a register.
    template <isa_t isa>
    void load_f32(const Xbyak::Xmm &to, const Xbyak::Operand &bytes,
            const Xbyak::Xmm &scratch);
    /// Multiplies numbers, or what they are multiplied by, by the unit.
    void multiply_by_unit(const Xbyak::Xmm &v);

    /// Loads a vector of halves.
    /// @param words A vector of any width, which AVX-512 may mask.
    /// @param bytes One for each word, in memory or a register.
    /// @param scratch A vector as wide as `words`.
    template <isa_t isa>
    void load(const Xbyak::Xmm &words, const Xbyak::Operand &bytes,
            const Xbyak::Xmm &scratch);

private:
    jit_generator_t &h_;
    const data_type_t type_;
};

} // namespace dnnl_dequant

#endif
