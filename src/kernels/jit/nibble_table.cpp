#include "kernels/jit/nibble_table.hpp"

#include "kernels/jit/nibble_numbers.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using lanes_t = jit_generator_t::lanes_t;

// For vpshufb within each 128-bit lane of four copies of 16 bytes: both bytes
// of word w are the source's byte w / 2, which has its nibble.
lanes_t word_spread() {
    constexpr uint32_t all_bytes = 0x01010101u;
    lanes_t lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i)
        lanes[i] = i * all_bytes;
    return lanes;
}

} // namespace

jit_nibble_table_t::jit_nibble_table_t(jit_generator_t &host, io_t &io,
        const src_format_t &src, data_type_t dst, int first_vmm)
    : h_(host)
    , io_(io)
    , src_(src)
    , dst_(dst)
    , vmm_numbers_(first_vmm)
    , vmm_table_(first_vmm + 1)
    , vmm_spread_(first_vmm + 2)
    , vmm_shifts_(first_vmm + 3) {}

void jit_nibble_table_t::load_constants() {
    h_.vmovups(vmm_numbers_, h_.constant(nibble_numbers(src_.type)));
    if (dst_ == data_type_t::f32 || src_.container_bits == 8) return;
    h_.vmovups(vmm_spread_, h_.constant(word_spread()));
    // The even words' nibble is in the low half of their bytes. It goes to the
    // bottom of the word or, in pairs, one bit above it.
    h_.vmovups(vmm_shifts_,
            h_.constant(dst_ == data_type_t::bf16 ? 0x000b0007u : 0x00040000u));
}

void jit_nibble_table_t::set(const Zmm &results, const Zmm &tmp) {
    if (dst_ == data_type_t::f32) {
        h_.vmovaps(vmm_table_, results);
        return;
    }
    if (dst_ == data_type_t::bf16) {
        io_.round_to_bf16_pairs(vmm_table_, results, tmp);
        return;
    }
    const Ymm words(results.getIdx());
    h_.vcvtps2ph(words, results, 0);
    h_.vinserti64x4(vmm_table_, results, words, 1);
}

void jit_nibble_table_t::load_word_indices(
        const Zmm &indices, const RegExp &src, bool tail) {
    if (tail) {
        const Xmm bytes(indices.getIdx());
        h_.vmovdqu8(bytes | io_.k_src_tail() | util::T_z, h_.ptr[src]);
        h_.vshufi64x2(indices, indices, indices, 0);
    } else {
        h_.vbroadcasti32x4(indices, h_.ptr[src]);
    }
    h_.vpshufb(indices, indices, vmm_spread_);
    h_.vpsrlvw(indices, indices, vmm_shifts_);
}

// Loads nibbles of a byte each, and moves them to the bits that
// load_word_indices() has them at.
void jit_nibble_table_t::load_byte_indices(
        const Zmm &indices, const RegExp &src, bool tail) {
    const Ymm bytes(indices.getIdx());
    if (tail) h_.vmovdqu8(bytes | io_.k_src_tail() | util::T_z, h_.ptr[src]);
    if (tail) h_.vpmovzxbw(indices, bytes);
    else h_.vpmovzxbw(indices, h_.ptr[src]);
    const int right = src_.shift - (dst_ == data_type_t::bf16 ? 1 : 0);
    if (right > 0) h_.vpsrlw(indices, indices, static_cast<uint8_t>(right));
    if (right < 0) h_.vpsllw(indices, indices, static_cast<uint8_t>(-right));
}

void jit_nibble_table_t::convert(
        const RegExp &dst, const RegExp &src, const Zmm &tmp, bool tail) {
    if (dst_ == data_type_t::f32) {
        io_.load_raw(tmp, src, tail);
        if (src_.shift > 0)
            h_.vpsrld(tmp, tmp, static_cast<uint8_t>(src_.shift));
        h_.vpermps(tmp, tmp, vmm_table_);
        if (tail) h_.vmovups(h_.ptr[dst] | io_.k_dst_tail(), tmp);
        else io_.store_full(dst, tmp);
        return;
    }
    if (src_.container_bits == 8) load_byte_indices(tmp, src, tail);
    else load_word_indices(tmp, src, tail);
    h_.vpermw(tmp, tmp, vmm_table_);
    if (tail) h_.vmovdqu16(h_.ptr[dst] | io_.k_dst_tail(), tmp);
    else io_.store_full(dst, tmp);
}

} // namespace dnnl_dequant
