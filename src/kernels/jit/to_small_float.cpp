#include "kernels/jit/to_small_float.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr uint32_t f32_infinity = 0x7f800000u;

} // namespace

template <isa_t isa>
jit_to_small_float_t<isa>::jit_to_small_float_t(
        jit_generator_t &host, data_type_t type)
    : h_(host)
    , format_(float_format_of(type)) {}

template <isa_t isa>
void jit_to_small_float_t<isa>::select(const vmm_t &value, const vmm_t &x,
        compare_t how, uint32_t constant, const Operand &other,
        const vmm_t &mask) {
    if (is_avx512) {
        constexpr uint8_t eq = 0, lt = 1, nle = 6;
        const uint8_t predicate = how == compare_t::less      ? lt
                                  : how == compare_t::greater ? nle
                                                              : eq;
        const Opmask k(7);
        h_.vpcmpd(k, x, h_.constant(constant), predicate);
        h_.vmovdqu32(value | k, other);
        return;
    }
    switch (how) {
    case compare_t::greater: h_.vpcmpgtd(mask, x, h_.constant(constant)); break;
    case compare_t::equal: h_.vpcmpeqd(mask, x, h_.constant(constant)); break;
    case compare_t::less:
        h_.vmovups(mask, h_.constant(constant));
        h_.vpcmpgtd(mask, mask, x);
        break;
    }
    h_.vblendvps(value, value, other, mask);
}

template <isa_t isa>
void jit_to_small_float_t<isa>::convert(
        const vmm_t &value, const std::array<vmm_t, 4> &scratch) {
    const vmm_t &a = scratch[0], &b = scratch[1], &c = scratch[2],
                &mask = scratch[3];
    const int m = format_.significand_bits, bias = format_.bias;
    const auto cut = static_cast<uint8_t>(23 - m);
    // 2^23 places of the type's subnormals.
    const auto magic = static_cast<uint32_t>(127 + 24 - bias - m) << 23;
    const auto least_normal = static_cast<uint32_t>(128 - bias) << 23;
    const auto rebias = static_cast<uint32_t>(127 - bias) << m;
    // a: the magnitude; value: its rounded upper bits.
    h_.vpslld(a, value, 1);
    h_.vpsrld(a, a, 1);
    h_.vpsrld(b, value, 31);
    h_.vpslld(b, b, static_cast<uint8_t>(format_.magnitude_bits())); // the sign
    h_.vpslld(value, a, static_cast<uint8_t>(31 - cut));
    h_.vpsrld(value, value, 31); // odd
    h_.vpaddd(value, value, a);
    h_.vpaddd(value, value, h_.constant((1u << (cut - 1)) - 1u));
    h_.vpsrld(value, value, cut);
    h_.vpsubd(value, value, h_.constant(rebias));
    h_.vaddps(c, a, h_.constant(magic));
    h_.vpsubd(c, c, h_.constant(magic));
    select(value, a, compare_t::less, least_normal, c, mask);
    const Address above = h_.constant(format_.overflow());
    select(value, value, compare_t::greater, format_.largest(), above, mask);
    if (format_.has_infinity())
        select(value, a, compare_t::greater, f32_infinity,
                h_.constant(format_.nan()), mask);
    if (!format_.has_negative_zero())
        select(b, value, compare_t::equal, 0, h_.constant(0), mask);
    h_.vorps(value, value, b);
    if (!format_.has_nan())
        select(value, a, compare_t::greater, f32_infinity, h_.constant(0),
                mask);
}

template class jit_to_small_float_t<isa_avx512_core>;
template class jit_to_small_float_t<isa_avx2>;

} // namespace dnnl_dequant
