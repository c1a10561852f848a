#include "kernels/jit/nibble_bytes.hpp"

#include "kernels/jit/nibble_numbers.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

// 64 bits 0 2 1 3, or 32 bits of a half vector: what unpacking the halves of
// 128-bit lanes puts in order.
constexpr uint8_t middle_swapped = 0xd8;
constexpr uint32_t low_nibbles = 0x0f0f0f0fu, low_bytes = 0x00ff00ffu;

} // namespace

jit_nibble_bytes_t::jit_nibble_bytes_t(jit_generator_t &host, io_t &io,
        const src_format_t &src, data_type_t dst, const Ymm &low,
        const Ymm &high)
    : h_(host)
    , io_(io)
    , src_(src)
    , dst_(dst)
    , vmm_low_(low)
    , vmm_high_(high) {}

// f16: 0 to 7 and 8 to 15. bf16: even and odd ones, as they are joined.
Address jit_nibble_bytes_t::numbers(int half) {
    const jit_generator_t::lanes_t all = nibble_numbers(src_.type);
    jit_generator_t::lanes_t lanes {};
    const auto first = static_cast<size_t>(half);
    for (size_t i = 0; i < 8; ++i)
        lanes[i] = all[dst_ == data_type_t::bf16 ? 2 * i + first
                                                 : i + first * 8];
    return h_.constant(lanes);
}

void jit_nibble_bytes_t::set(
        const Ymm &first, const Ymm &second, const Ymm &tmp) {
    if (dst_ == data_type_t::bf16) {
        io_.join_bf16(first, second, tmp);
    } else {
        const Xmm low(first.getIdx()), high(second.getIdx());
        h_.vcvtps2ph(low, first, 0);
        h_.vcvtps2ph(high, second, 0);
        h_.vinserti128(first, first, high, 1);
    }
    // Lower bytes to the lower half, then each half to both.
    h_.vpsrlw(second, first, 8);
    h_.vpand(first, first, h_.constant(low_bytes));
    h_.vpackuswb(first, first, second);
    h_.vpermq(first, first, middle_swapped);
    h_.vinserti128(vmm_low_, first, Xmm(first.getIdx()), 1);
    h_.vperm2i128(vmm_high_, first, first, 0x11);
}

// A byte each, of elements 0 to 7, 16 to 23 | 8 to 15, 24 to 31.
void jit_nibble_bytes_t::load_indices(
        const Ymm &indices, const RegExp &src, const Ymm &tmp) {
    if (src_.container_bits == 8) {
        h_.vpermq(indices, h_.ptr[src], middle_swapped);
        if (src_.shift > 0)
            h_.vpsrlw(indices, indices, static_cast<uint8_t>(src_.shift));
    } else {
        const Xmm bytes(indices.getIdx());
        h_.vpshufd(bytes, h_.ptr[src], middle_swapped);
        h_.vpmovzxbw(indices, bytes);
        h_.vpsllw(tmp, indices, 4);
        h_.vpor(indices, indices, tmp);
    }
    h_.vpand(indices, indices, h_.constant(low_nibbles));
}

void jit_nibble_bytes_t::convert(const RegExp &dst, const RegExp &src,
        const Ymm &tmp_a, const Ymm &tmp_b, const Ymm &tmp_c) {
    constexpr uint32_t vmm_bytes = 32;
    load_indices(tmp_a, src, tmp_b);
    h_.vpshufb(tmp_b, vmm_low_, tmp_a);
    h_.vpshufb(tmp_c, vmm_high_, tmp_a);
    h_.vpunpcklbw(tmp_a, tmp_b, tmp_c);
    h_.vpunpckhbw(tmp_b, tmp_b, tmp_c);
    io_.store_full(dst, tmp_a);
    io_.store_full(dst + vmm_bytes, tmp_b);
}

} // namespace dnnl_dequant
