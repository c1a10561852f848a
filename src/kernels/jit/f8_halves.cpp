#include "kernels/jit/f8_halves.hpp"

#include "base/bits.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

template <isa_t isa>
void jit_f8_halves_t::load(
        const Xmm &words, const Operand &bytes, const Xmm &scratch) {
    const Xmm w(words.getKind(), words.getIdx()); // not masked
    if (type_ == data_type_t::f8_e5m2) {
        h_.vpmovzxbw(words, bytes);
        h_.vpsllw(w, w, 8);
        return;
    }
    // Bits 14 and 15 are the sign. e4m3's NaN, all ones, is the one magnitude
    // that a one more carries into bit 14, which makes it f16's NaN.
    constexpr uint32_t one_more = 0x00800080, bit_14 = 0x40004000;
    constexpr uint8_t xor_and = 0x78; // w ^ (scratch & bit 14)
    h_.vpmovsxbw(words, bytes);
    h_.vpsllw(w, w, 7);
    h_.vpaddw(scratch, w, h_.constant(one_more));
    if (isa == isa_avx512_core) {
        h_.vpternlogd(w, scratch, h_.constant(bit_14), xor_and);
    } else {
        h_.vpand(scratch, scratch, h_.constant(bit_14));
        h_.vpxor(w, w, scratch);
    }
}

template <isa_t isa>
void jit_f8_halves_t::load_f32(
        const Xmm &to, const Operand &bytes, const Xmm &scratch) {
    const Xmm plain(to.getKind(), to.getIdx()); // not masked
    load<isa>(half_of(to), bytes, half_of(scratch));
    h_.vcvtph2ps(plain, half_of(plain));
}

void jit_f8_halves_t::multiply_by_unit(const Xmm &v) {
    const float unit = unit_of(type_);
    if (unit != 1) h_.vmulps(v, v, h_.constant(bits_of_f32(unit)));
}

#define INSTANTIATE(isa)                                                 \
    template void jit_f8_halves_t::load<isa>(                            \
            const Xmm &words, const Operand &bytes, const Xmm &scratch); \
    template void jit_f8_halves_t::load_f32<isa>(                        \
            const Xmm &to, const Operand &bytes, const Xmm &scratch);
INSTANTIATE(isa_avx512_core)
INSTANTIATE(isa_avx2)
#undef INSTANTIATE

} // namespace dnnl_dequant
