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
    , sign_shift_(24) {
    switch (type) {
    case data_type_t::f8_e4m3:
        significand_bits_ = 3, bias_ = 7, largest_ = 0x7e, above_ = 0x7f;
        break;
    case data_type_t::f8_e4m3fnuz:
        significand_bits_ = 3, bias_ = 8, largest_ = 0x7f, above_ = 0x80;
        no_negative_zero_ = true;
        break;
    case data_type_t::f8_e5m2fnuz:
        significand_bits_ = 2, bias_ = 16, largest_ = 0x7f, above_ = 0x80;
        no_negative_zero_ = true;
        break;
    case data_type_t::f4_e2m1:
        significand_bits_ = 1, bias_ = 1, largest_ = 7, above_ = 7;
        sign_shift_ = 28;
        nan_is_zero_ = true;
        break;
    default: // f8_e5m2; above infinity's code is NaN's
        significand_bits_ = 2, bias_ = 15, largest_ = 0x7b, above_ = 0x7c;
        infinity_ = 0x7c;
    }
}

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
    const auto cut = static_cast<uint8_t>(23 - significand_bits_);
    // 2^23 places of the type's subnormals.
    const auto magic
            = static_cast<uint32_t>(127 + 24 - bias_ - significand_bits_) << 23;
    const auto least_normal = static_cast<uint32_t>(128 - bias_) << 23;
    const auto rebias = static_cast<uint32_t>(127 - bias_) << significand_bits_;
    // a: the magnitude; value: its rounded upper bits.
    h_.vpslld(a, value, 1);
    h_.vpsrld(a, a, 1);
    h_.vpsrld(b, value, 31);
    h_.vpslld(b, b, static_cast<uint8_t>(31 - sign_shift_)); // the sign
    h_.vpslld(value, a, static_cast<uint8_t>(31 - cut));
    h_.vpsrld(value, value, 31); // odd
    h_.vpaddd(value, value, a);
    h_.vpaddd(value, value, h_.constant((1u << (cut - 1)) - 1u));
    h_.vpsrld(value, value, cut);
    h_.vpsubd(value, value, h_.constant(rebias));
    h_.vaddps(c, a, h_.constant(magic));
    h_.vpsubd(c, c, h_.constant(magic));
    select(value, a, compare_t::less, least_normal, c, mask);
    const Address above = h_.constant(above_);
    select(value, value, compare_t::greater, largest_, above, mask);
    if (infinity_ != 0)
        select(value, a, compare_t::greater, f32_infinity,
                h_.constant(infinity_ + 3), mask);
    if (no_negative_zero_)
        select(b, value, compare_t::equal, 0, h_.constant(0), mask);
    h_.vorps(value, value, b);
    if (nan_is_zero_)
        select(value, a, compare_t::greater, f32_infinity, h_.constant(0),
                mask);
}

template class jit_to_small_float_t<isa_avx512_core>;
template class jit_to_small_float_t<isa_avx2>;

} // namespace dnnl_dequant
