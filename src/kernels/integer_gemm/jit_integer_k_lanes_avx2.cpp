#include "kernels/integer_gemm/jit_integer_k_lanes_avx2.hpp"

#include <algorithm>

namespace dnnl_dequant {

using namespace Xbyak;

jit_integer_k_lanes_avx2_base_t::jit_integer_k_lanes_avx2_base_t(
        const integer_stream_weights_t &weights, int rows, bool has_vnni)
    : jit_integer_k_lanes_frame_t("jit_integer_k_lanes_avx2", weights,
              has_vnni ? weights.vnni_bias() : integer_bias(weights.format),
              simd_w, rows)
    , has_vnni_(has_vnni) {}

void jit_integer_k_lanes_avx2_base_t::load_constants() {
    vmovups(mask_, constant(0x0f0f0f0fu));
    vmovups(ones_, constant(has_vnni_ ? 0x01010101u : 0x00010001u));
    vmovups(flipped_, constant(flipped_bits()));
    vpxor(zero_, zero_, zero_);
}

void jit_integer_k_lanes_avx2_base_t::load_weights(
        const Ymm &to, const Address &from) {
    if (bias_ == 0) vmovdqu(to, from);
    else vpxor(to, flipped_, from);
}

void jit_integer_k_lanes_avx2_base_t::load_few_weights(const Ymm &to,
        const Ymm &half, const Ymm &rest, const RegExp &from, dim_t bytes) {
    constexpr dim_t half_bytes = vector_bytes / 2;
    const Xmm low_half(to.getIdx()), high_half(half.getIdx()), x(rest.getIdx());
    load_half(low_half, x, from, std::min(bytes, half_bytes));
    if (bytes > half_bytes) {
        load_half(high_half, x, from + static_cast<size_t>(half_bytes),
                bytes - half_bytes);
        vinserti128(to, to, high_half, 1);
    }
    if (bias_ == 0) return;
    lanes_t flipped {};
    for (dim_t i = 0; i < bytes; ++i)
        flipped[static_cast<size_t>(i / 4)] |= (flipped_bits() & 0xffu)
                                               << (i % 4 * 8);
    vpxor(to, to, constant(flipped));
}

// Loads bytes by two loads, which may overlap.
void jit_integer_k_lanes_avx2_base_t::load_half(
        const Xmm &to, const Xmm &rest, const RegExp &from, dim_t bytes) {
    constexpr dim_t half_bytes = vector_bytes / 2;
    dim_t loaded = half_bytes;
    while (loaded > bytes)
        loaded /= 2;
    load_power(to, from, loaded);
    if (loaded == bytes) return;
    const dim_t again = bytes - loaded;
    load_power(rest, from + static_cast<size_t>(again), loaded);
    lanes_t order {};
    for (dim_t i = 0; i < half_bytes; ++i) {
        const bool is_new = i >= loaded && i < bytes;
        const auto place = static_cast<uint32_t>(is_new ? i - again : 0x80);
        order[static_cast<size_t>(i / 4)] |= place << (i % 4 * 8);
    }
    vpshufb(rest, rest, constant(order));
    vpor(to, to, rest);
}

void jit_integer_k_lanes_avx2_base_t::load_power(
        const Xmm &to, const RegExp &from, dim_t bytes) {
    const Xmm zero(zero_.getIdx());
    switch (bytes) {
    case 16: vmovdqu(to, ptr[from]); break;
    case 8: vmovq(to, ptr[from]); break;
    case 4: vmovd(to, ptr[from]); break;
    case 2: vpinsrw(to, zero, ptr[from], 0); break;
    default: vpinsrb(to, zero, ptr[from], 0); break;
    }
}

void jit_integer_k_lanes_avx2_base_t::part(const Ymm &low, const Ymm &high) {
    vpsrlw(high, low, 4);
    vpand(high, high, mask_);
    vpand(low, low, mask_);
}

void jit_integer_k_lanes_avx2_base_t::transpose_eights() {
    const auto a = [](int i) { return Ymm(i); };
    const auto b = [](int i) { return Ymm(simd_w + i); };
    for (int i = 0; i < simd_w; i += 2) {
        vunpcklps(b(i), a(i), a(i + 1));
        vunpckhps(b(i + 1), a(i), a(i + 1));
    }
    for (int i = 0; i < simd_w; i += 4)
        for (int j = 0; j < 2; ++j) {
            vunpcklpd(a(i + 2 * j), b(i + j), b(i + j + 2));
            vunpckhpd(a(i + 2 * j + 1), b(i + j), b(i + j + 2));
        }
    constexpr int half = simd_w / 2;
    for (int i = 0; i < half; ++i) {
        vinsertf128(b(i), a(i), Xmm(half + i), 1);
        vperm2f128(b(half + i), a(i), a(half + i), 0x31);
    }
}

} // namespace dnnl_dequant
