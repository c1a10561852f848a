#include "kernels/jit/transpose_dwords.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

void transpose_dwords(jit_generator_t &code) {
    constexpr int count = 16;
    const auto a = [](int i) { return Zmm(i); };
    const auto b = [](int i) { return Zmm(count + i); };
    for (int i = 0; i < count; i += 2) {
        code.vpunpckldq(b(i), a(i), a(i + 1));
        code.vpunpckhdq(b(i + 1), a(i), a(i + 1));
    }
    for (int i = 0; i < count; i += 4)
        for (int j = 0; j < 2; ++j) {
            code.vpunpcklqdq(a(i + 2 * j), b(i + j), b(i + j + 2));
            code.vpunpckhqdq(a(i + 2 * j + 1), b(i + j), b(i + j + 2));
        }
    // Lane l of vector 4 i + j gets dword 4 l + j of vectors 4 i to 4 i + 3.
    for (int j = 0; j < 4; ++j) {
        code.vshufi32x4(b(j), a(j), a(4 + j), 0x88);
        code.vshufi32x4(b(4 + j), a(j), a(4 + j), 0xdd);
        code.vshufi32x4(b(8 + j), a(8 + j), a(12 + j), 0x88);
        code.vshufi32x4(b(12 + j), a(8 + j), a(12 + j), 0xdd);
    }
    for (int j = 0; j < 4; ++j) {
        code.vshufi32x4(a(j), b(j), b(8 + j), 0x88);
        code.vshufi32x4(a(4 + j), b(4 + j), b(12 + j), 0x88);
        code.vshufi32x4(a(8 + j), b(j), b(8 + j), 0xdd);
        code.vshufi32x4(a(12 + j), b(4 + j), b(12 + j), 0xdd);
    }
}

void transpose_dwords_avx2(jit_generator_t &code) {
    constexpr int simd_w = 8, half = simd_w / 2;
    const auto a = [](int i) { return Ymm(i); };
    const auto b = [](int i) { return Ymm(simd_w + i); };
    for (int i = 0; i < simd_w; i += 2) {
        code.vunpcklps(b(i), a(i), a(i + 1));
        code.vunpckhps(b(i + 1), a(i), a(i + 1));
    }
    for (int i = 0; i < simd_w; i += 4)
        for (int j = 0; j < 2; ++j) {
            code.vunpcklpd(a(i + 2 * j), b(i + j), b(i + j + 2));
            code.vunpckhpd(a(i + 2 * j + 1), b(i + j), b(i + j + 2));
        }
    for (int i = 0; i < half; ++i) {
        code.vinsertf128(b(i), a(i), Xmm(half + i), 1);
        code.vperm2f128(b(half + i), a(i), a(half + i), 0x31);
    }
}

} // namespace dnnl_dequant
