#include "kernels/attention/jit_row_integers.hpp"

#include "base/bits.hpp"

namespace dnnl_dequant {

void jit_row_integers_t::find_unit(const Zmm &norm_of_row) {
    constexpr uint32_t infinity = 0x7f800000;
    const Ymm half(x_.getIdx());
    const Xmm x(x_.getIdx()), y(y_.getIdx());
    vextracti64x4(half, largest_, 1);
    vpmaxud(Ymm(largest_.getIdx()), Ymm(largest_.getIdx()), half);
    const Xmm largest(largest_.getIdx()), norm(norm_of_row.getIdx());
    vextracti128(x, Ymm(largest_.getIdx()), 1);
    vpmaxud(largest, largest, x);
    constexpr uint8_t upper_half = 0x4e, next_lane = 0xb1;
    for (const uint8_t order : {upper_half, next_lane}) {
        vpshufd(x, largest, order);
        vpmaxud(largest, largest, x);
    }
    vmovd(bits_.cvt32(), largest);
    constexpr float of_largest = 128.f / 127;
    vmulss(norm, largest, constant(bits_of_f32(of_largest)));
    Label l_no_digits, l_done;
    test(bits_.cvt32(), bits_.cvt32());
    jz(l_no_digits, T_NEAR);
    cmp(bits_.cvt32(), infinity);
    jae(l_no_digits, T_NEAR);
    vcvtss2sd(x, largest, largest);
    vmovsd(y,
            constant(doubles(digits_count_ == 3 ? 127. * 65536 : 127. * 256)));
    vdivsd(x, y, x);
    vbroadcastsd(unit_, x);
    jmp(l_done, T_NEAR);
    L(l_no_digits);
    clear(unit_);
    // 0 * infinity is NaN.
    vmulss(x, largest, Xmm(unit_.getIdx()));
    vaddss(norm, norm, x);
    L(l_done);
}

void jit_row_integers_t::make_integers(
        const Zmm &to, const Zmm &upper, const RegExp &numbers) {
    const Zmm *const halves[] = {&to, &upper};
    for (size_t half = 0; half < 2; ++half) {
        const Zmm &x = *halves[half];
        vcvtps2pd(x, ptr[numbers + half * 32]);
        vmulpd(x, x, unit_);
        vcvtpd2dq(Ymm(x.getIdx()), x);
    }
    vinserti64x4(to, to, Ymm(upper.getIdx()), 1);
}

void jit_row_integers_t::turn_into_digits(const Zmm &x) {
    vpaddd(x, x, constant(digits_count_ == 3 ? 0x00808080u : 0x00008080u));
    bit_xor(x, x, constant(0x80808080u));
}

} // namespace dnnl_dequant
