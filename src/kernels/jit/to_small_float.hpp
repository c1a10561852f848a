#ifndef KERNELS_JIT_TO_SMALL_FLOAT_HPP
#define KERNELS_JIT_TO_SMALL_FLOAT_HPP

#include "base/float_format.hpp"
#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"

namespace dnnl_dequant {

/// f32 lanes to the codes of floats of 4 or 8 bits, one a lane, as
/// f32_to_small_float() has them (base/convert.hpp).
///
/// A normal number is the upper bits of the f32, rounded by an addition whose
/// carry runs into the exponent. A subnormal number is rounded by adding the
/// float whose last place is that of the type's subnormals.
template <isa_t isa>
class jit_to_small_float_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;

    jit_to_small_float_t(jit_generator_t &host, data_type_t type);

    /// `value` becomes the codes. Clobbers k7.
    void convert(const vmm_t &value, const std::array<vmm_t, 4> &scratch);

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    enum class compare_t { less, greater, equal };

    /// Replaces `value` by `other` in lanes of `x` that compare with the
    /// constant in this way, as signed integers. `mask` is scratch.
    void select(const vmm_t &value, const vmm_t &x, compare_t how,
            uint32_t constant, const Xbyak::Operand &other, const vmm_t &mask);

    jit_generator_t &h_;
    const float_format_t format_;
};

} // namespace dnnl_dequant

#endif
