#include "kernels/jit/narrow.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

template <isa_t isa>
jit_narrow_t<isa>::jit_narrow_t(
        jit_generator_t &host, int bits, bool is_signed, const vmm_t &vmm_order)
    : h_(host)
    , bits_(bits)
    , is_signed_(is_signed)
    , vmm_order_(vmm_order) {}

template <isa_t isa>
void jit_narrow_t<isa>::clamp_to(int lower, int upper) {
    const int64_t one = 1;
    const int64_t least = is_signed_ ? -(one << (bits_ - 1)) : 0;
    const int64_t most = (one << (is_signed_ ? bits_ - 1 : bits_)) - 1;
    if (lower > least) lower_ = lower;
    if (upper < most) upper_ = upper;
}

template <isa_t isa>
void jit_narrow_t<isa>::clamp_lanes(const vmm_t &vector) {
    const auto all = [this](int bound) {
        return h_.constant(static_cast<uint32_t>(bound));
    };
    if (lower_) h_.vpmaxsd(vector, vector, all(*lower_));
    if (upper_) h_.vpminsd(vector, vector, all(*upper_));
}

template <isa_t isa>
void jit_narrow_t<isa>::clamp_narrow(const vmm_t &vector) {
    const auto all = [this](int bound) {
        const auto bits = static_cast<uint32_t>(bound);
        return h_.constant(bits_ == 8 ? (bits & 0xff) * 0x01010101u
                                      : (bits & 0xffff) * 0x00010001u);
    };
    if (bits_ == 8) {
        if (lower_ && is_signed_) h_.vpmaxsb(vector, vector, all(*lower_));
        else if (lower_) h_.vpmaxub(vector, vector, all(*lower_));
        if (upper_ && is_signed_) h_.vpminsb(vector, vector, all(*upper_));
        else if (upper_) h_.vpminub(vector, vector, all(*upper_));
        return;
    }
    if (lower_ && is_signed_) h_.vpmaxsw(vector, vector, all(*lower_));
    else if (lower_) h_.vpmaxuw(vector, vector, all(*lower_));
    if (upper_ && is_signed_) h_.vpminsw(vector, vector, all(*upper_));
    else if (upper_) h_.vpminuw(vector, vector, all(*upper_));
}

// Packing works within 128 bits: four vectors of bytes come out as dwords
// whose order this puts right, two of words as quadwords.
template <isa_t isa>
void jit_narrow_t<isa>::load_constants() {
    constexpr uint32_t parts = is_avx512 ? 4 : 2;
    jit_generator_t::lanes_t lanes {};
    for (uint32_t i = 0; i < 4 * parts; ++i)
        lanes[i] = bits_ == 8 ? i / parts + i % parts * 4
                              : i / (2 * parts) * 2 + i % (2 * parts) / 2 * 4
                                        + i % 2;
    if (bits_ < 32) h_.vmovups(vmm_order_, h_.constant(lanes));
    if (takes_turns_) load_constants_of_turns();
}

// Each 128 bits hold eight elements of the first half and eight of the second,
// the even ones first.
template <isa_t isa>
void jit_narrow_t<isa>::load_constants_of_turns() {
    jit_generator_t::lanes_t pairs {}, order {};
    for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t first = i % 4 / 2 * 8 + i % 2 * 2;
        pairs[i] = first | (first + 4) << 8 | (first + 1) << 16
                   | (first + 5) << 24;
        order[i] = i % 8 / 2 * 4 + i % 2 + i / 8 * 2;
    }
    h_.vmovups(vmm_pairs_, h_.constant(pairs));
    h_.vmovups(vmm_order_of_pairs_, h_.constant(order));
}

template <isa_t isa>
void jit_narrow_t<isa>::to_words(
        const vmm_t &to, const vmm_t &low, const vmm_t &high) {
    // On the way to bytes both saturations are signed first.
    if (is_signed_ || bits_ == 8) h_.vpackssdw(to, low, high);
    else h_.vpackusdw(to, low, high);
}

template <isa_t isa>
void jit_narrow_t<isa>::to_bytes(
        const vmm_t &to, const vmm_t &low, const vmm_t &high) {
    if (is_signed_) h_.vpacksswb(to, low, high);
    else h_.vpackuswb(to, low, high);
}

// Joins all of them in the first.
template <isa_t isa>
void jit_narrow_t<isa>::to_narrow(const vmm_t *vectors) {
    const vmm_t &first = vectors[0];
    if (bits_ < 32) to_words(first, first, vectors[1]);
    if (bits_ == 8) {
        to_words(vectors[2], vectors[2], vectors[3]);
        to_bytes(first, first, vectors[2]);
    }
    if (bits_ < 32) restore_order(first);
}

template <isa_t isa>
void jit_narrow_t<isa>::restore_order(const vmm_t &vector) {
    clamp_narrow(vector);
    h_.vpermd(vector, vmm_order_, vector);
}

template <isa_t isa>
void jit_narrow_t<isa>::restore_joined_order(const vmm_t &vector) {
    if (!takes_turns_) return restore_order(vector);
    clamp_narrow(vector);
    h_.vpshufb(vector, vector, vmm_pairs_);
    h_.vpermd(vector, vmm_order_of_pairs_, vector);
}

// Joins in the first what join_words() has joined.
template <isa_t isa>
void jit_narrow_t<isa>::join_bytes(const vmm_t *vectors) {
    to_bytes(vectors[0], vectors[0], vectors[2]);
    restore_joined_order(vectors[0]);
}

template <isa_t isa>
void jit_narrow_t<isa>::join_words(const vmm_t *vectors) {
    to_words(vectors[0], vectors[0], vectors[1]);
    to_words(vectors[2], vectors[2], vectors[3]);
}

template <isa_t isa>
void jit_narrow_t<isa>::store_whole(
        const RegExp &dst, const Xmm &vector, bool streaming) {
    if (streaming) h_.vmovntps(h_.ptr[dst], vector);
    else h_.vmovups(h_.ptr[dst], vector);
}

template <isa_t isa>
void jit_narrow_t<isa>::store_group(
        const RegExp &dst, const vmm_t *vectors, bool streaming) {
    to_narrow(vectors);
    store_whole(dst, vectors[0], streaming);
}

template <isa_t isa>
void jit_narrow_t<isa>::store_joined(
        const RegExp &dst, const vmm_t *vectors, bool streaming) {
    join_bytes(vectors);
    store_whole(dst, vectors[0], streaming);
}

// Joins each two bytes to a word of low + 16 * high.
template <isa_t isa>
template <typename Reg>
void jit_narrow_t<isa>::pair_nibbles(const Reg &bytes) {
    if (is_signed_ && is_avx512)
        h_.vpandd(bytes, bytes, h_.constant(0x0f0f0f0f));
    else if (is_signed_) h_.vpand(bytes, bytes, h_.constant(0x0f0f0f0f));
    h_.vpmaddubsw(bytes, bytes, h_.constant(0x10011001));
}

template <isa_t isa>
void jit_narrow_t<isa>::store_nibble_group(
        const RegExp &dst, const vmm_t *vectors, bool streaming) {
    to_narrow(vectors);
    store_bytes_as_nibbles(dst, vectors[0], streaming);
}

template <isa_t isa>
void jit_narrow_t<isa>::store_joined_nibbles(
        const RegExp &dst, const vmm_t *vectors, bool streaming) {
    join_bytes(vectors);
    store_bytes_as_nibbles(dst, vectors[0], streaming);
}

template <isa_t isa>
void jit_narrow_t<isa>::store_bytes_as_nibbles(
        const RegExp &dst, const vmm_t &bytes, bool streaming) {
    pair_nibbles(bytes);
    const Ymm y(bytes.getIdx());
    if (is_avx512 && streaming) {
        h_.vpmovwb(y, Zmm(bytes.getIdx()));
        h_.vmovntps(h_.ptr[dst], y);
        return;
    }
    if (is_avx512) {
        h_.vpmovwb(h_.ptr[dst], Zmm(bytes.getIdx()));
        return;
    }
    h_.vpackuswb(y, y, y);
    h_.vpermq(y, y, 0x08);
    store_whole(dst, Xmm(bytes.getIdx()), streaming);
}

template <isa_t isa>
void jit_narrow_t<isa>::store_nibbles(const RegExp &dst, const vmm_t &vector) {
    clamp_lanes(vector);
    const Xmm x(vector.getIdx());
    if (is_avx512) {
        // This does not saturate, and lanes of unsigned types may be negative.
        if (!is_signed_) h_.vpmaxsd(vector, vector, h_.constant(0));
        h_.vpmovdb(x, Zmm(vector.getIdx()));
    } else {
        to_words(vector, vector, vector);
        h_.vpermq(Ymm(vector.getIdx()), Ymm(vector.getIdx()), 0x08);
        to_bytes(vector, vector, vector);
    }
    pair_nibbles(x);
    h_.vpackuswb(x, x, x);
    if (is_avx512) h_.vmovq(h_.ptr[dst], x);
    else h_.vmovd(h_.ptr[dst], x);
}

// Lanes of unsigned types may be negative, and the instructions would take them
// for large.
template <isa_t isa>
void jit_narrow_t<isa>::store_lanes(const Address &to, const vmm_t &vector) {
    const Zmm z(vector.getIdx());
    if (bits_ == 32) {
        h_.vmovdqu32(to, z);
    } else if (is_signed_) {
        if (bits_ == 8) h_.vpmovsdb(to, z);
        else h_.vpmovsdw(to, z);
    } else {
        h_.vpmaxsd(z, z, h_.constant(0));
        if (bits_ == 8) h_.vpmovusdb(to, z);
        else h_.vpmovusdw(to, z);
    }
}

template <isa_t isa>
void jit_narrow_t<isa>::store(
        const RegExp &dst, const vmm_t &vector, bool tail, const Opmask &mask) {
    clamp_lanes(vector);
    if (is_avx512) {
        if (tail) store_lanes(h_.ptr[dst] | mask, vector);
        else store_lanes(h_.ptr[dst], vector);
        return;
    }
    const Xmm x(vector.getIdx());
    if (bits_ == 32) {
        h_.vmovups(h_.ptr[dst], vector);
        return;
    }
    to_words(vector, vector, vector);
    h_.vpermq(Ymm(vector.getIdx()), Ymm(vector.getIdx()), 0x08);
    if (bits_ == 16) {
        h_.vmovups(h_.ptr[dst], x);
        return;
    }
    to_bytes(vector, vector, vector);
    h_.vmovq(h_.ptr[dst], x);
}

template <isa_t isa>
void jit_narrow_t<isa>::store_single(const RegExp &dst, const vmm_t &vector) {
    clamp_lanes(vector);
    const Xmm x(vector.getIdx());
    if (bits_ == 32) {
        h_.vmovd(h_.ptr[dst], x);
        return;
    }
    to_words(vector, vector, vector);
    if (bits_ == 16) {
        h_.vpextrw(h_.ptr[dst], x, 0);
        return;
    }
    to_bytes(vector, vector, vector);
    h_.vpextrb(h_.ptr[dst], x, 0);
}

template class jit_narrow_t<isa_avx512_core>;
template class jit_narrow_t<isa_avx2>;

} // namespace dnnl_dequant
