// A skinny GEMM by [K,N] weights of 2, 4 or 8 bits on AVX-512, N lanes. Each
// panel of columns goes down some rows of one group. The sums stay in registers
// and are scaled once, when the group ends.
//
// A nibble n at bit b of a lane, in the significand of 2^(23 - b), makes the
// number 2^(23 - b) + n. One operation cuts it out and makes it a float. Zero
// points carry the same bias, so one subtraction removes both; both steps are
// exact. The sign bit of a signed nibble is flipped, which adds 8. Weights of 8
// bits are the case b = 0, where the flip adds 128.
//
// Floats have no zero points. If they have 4 bits they are looked up, if they
// have 8 they become f16 first. e4m3 is then a multiple of 2^-8, so one row's
// element of src, or else the weight, is multiplied by 2^8.
//
// A lane has as many nibbles as a panel has vectors: vector j has the j-th of
// each lane. Scales, zero points and sums have that order too.
//
// Registers: see jit_n_lanes_frame_t. The first 24 vectors are sums, the next
// one is what was loaded, then come the masks. Two alternate as weights.

#include "kernels/skinny_gemm/jit_n_lanes_code.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/jit/bf16_pairs.hpp"
#include "kernels/jit/f8_halves.hpp"
#include "kernels/jit/nibble_numbers.hpp"
#include "kernels/jit/two_bits.hpp"
#include "kernels/skinny_gemm/jit_n_lanes_frame.hpp"
#include "kernels/skinny_gemm/weights_rounding.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int most_vectors = 8;

// Pairs of bf16 need more registers next to the sums if nibbles need masks.
int most_sums_of(const skinny_weights_t &weights, int vectors) {
    const bool is_bf16 = weights.multiplied == data_type_t::bf16;
    return is_bf16 && vectors > 2 ? 20 : 24;
}

bool is_nibble(const skinny_weights_t &w) {
    return w.are_nibbles();
}

bool is_float(const skinny_weights_t &w) {
    return is_floating(w.type);
}

// The nibbles from `first_high` on lie too high for a significand. A shift by
// `high_shift` brings them down.
constexpr int high_shift = 12, first_high = 5;
int bit_of(const skinny_weights_t &w, int vector) {
    if (!is_nibble(w)) return 0;
    return 4 * vector - (vector >= first_high ? high_shift : 0);
}

float unit_number(int bit) {
    return std::ldexp(1.f, 23 - bit);
}

class jit_n_lanes_generator_t : public jit_n_lanes_frame_t<isa_avx512_core> {
public:
    jit_n_lanes_generator_t(const skinny_weights_t &weights,
            const jit_n_lanes_panel_t &panel, int rows)
        : jit_n_lanes_frame_t("jit_n_lanes", weights, panel, rows,
                  jit_isa_t<isa_avx512_core>::vmm_count) {}

private:
    // One row's sums leave room for zero points, the row's element of a and the
    // flipped bits.
    bool has_room() const { return rows_ == 1; }
    Zmm zp(int v) const { return Zmm(vectors_ + v); }
    Zmm flipped(int bit) const { return Zmm(2 * most_vectors + bit / 4); }
    const Zmm vmm_a_ {23}, raw_ {24};
    Zmm mask(int bit) const { return Zmm(25 + bit / 4); }
    Zmm weight(int v) const { return Zmm(30 + v % 2); }
    // Registers for pairs of bf16: the second row's nibbles, and the order of
    // bf16. With fewer vectors there are fewer masks, but fewer free registers
    // next to the sums.
    const Zmm second_raw_ {vectors_ > 2 ? 21 : 28};
    const Zmm order_ {vectors_ > 4 ? 22 : 29};

    const Zmm numbers_ = mask(0); // of floats of 4 bits
    const Zmm scratch_ = mask(4); // for floats of 8 bits
    jit_f8_halves_t f8_ {*this, w_.type};

    void load_constants() override {
        if (!is_float(w_)) load_constants_of_integers();
        else if (is_nibble(w_))
            vmovups(numbers_, constant(nibble_numbers(w_.type)));
        if (is_bf16_) vmovups(order_, constant(order_of_bf16_pairs()));
    }

    void load_constants_of_integers() {
        const int count = is_nibble(w_) ? std::min(vectors_, first_high) : 1;
        for (int v = 0; v < count; ++v) {
            if (is_nibble(w_)) vmovups(mask(4 * v), constant(0xfu << (4 * v)));
            if (has_room())
                vmovups(flipped(4 * v), constant(flipped_bits(4 * v)));
        }
    }

    void begin_panel() override {
        for (int v = 0; subtracts() && has_room() && v < vectors_; ++v)
            vmovups(zp(v), ptr[r11 + bytes(v)]);
    }

    void row_of_weights() override {
        prefetch_row(rcx + r9);
        if (is_nibble(w_)) load_nibbles(raw_, rcx);
        if (is_bf16_) {
            // An address has at most two registers.
            lea(r9, ptr[r9 + r8]);
            prefetch_row(rcx + r9);
            sub(r9, r8);
            if (is_nibble(w_)) load_nibbles(second_raw_, rcx + r8);
        }
        if (has_room()) vbroadcastss(vmm_a_, ptr[row_of_a(0)]);
        if (scales_a()) f8_.multiply_by_unit(vmm_a_);
        for (int v = 0; v < vectors_; ++v) {
            if (is_bf16_) {
                multiply_pairs(v);
                continue;
            }
            make_number(weight(v), v, raw_, rcx);
            multiply(weight(v), v);
        }
    }

    void prefetch_row(const RegExp &row) {
        for (uint32_t at = 0; at < weights_bytes(vectors_); at += 64)
            prefetch_stream(ptr[row + at]);
    }

    void load_nibbles(const Zmm &raw, const RegExp &row) {
        if (w_.have_two_bits()) return load_two_bits_of(raw, row);
        if (vectors_ == 8) vmovdqu32(raw, ptr[row]);
        else if (vectors_ == 4) vpmovzxwd(raw, ptr[row]);
        else vpmovzxbd(raw, ptr[row]);
    }

    void load_two_bits_of(const Zmm &raw, const RegExp &row) {
        const Ymm half(raw.getIdx());
        const Xmm quarter(raw.getIdx());
        const auto load = [&](const Xmm &to) {
            const Xmm scratch(to.getKind(), weight(0).getIdx());
            load_two_bits<isa_avx512_core>(*this, to, ptr[row], scratch);
        };
        if (vectors_ == 8) return load(raw);
        load(vectors_ == 4 ? Xmm(half) : quarter);
        if (vectors_ == 4) vpmovzxwd(raw, half);
        else vpmovzxbd(raw, quarter);
    }

    // Returns the bits that turn a nibble at `bit` into a number: those of
    // unit_number(), and the flipped sign bit.
    uint32_t flipped_bits(int bit) const {
        uint32_t bits;
        const float number = unit_number(bit);
        std::memcpy(&bits, &number, sizeof(bits));
        return bits | w_.sign_bit() << bit;
    }

    // Makes a number that exceeds the weight by unit_number() and the flipped
    // sign.
    void make_number(const Zmm &w, int v, const Zmm &raw, const RegExp &row) {
        if (is_float(w_)) return make_float(w, v, raw, row);
        const int bit = bit_of(w_, v);
        const Address in_memory = constant(flipped_bits(bit));
        const Zmm in_register = flipped(bit);
        const Operand &flip
                = has_room() ? static_cast<const Operand &>(in_register)
                             : in_memory;
        if (!is_nibble(w_)) {
            vpmovzxbd(w, ptr[row + weights_bytes(v)]);
            vpxord(w, w, flip);
            return;
        }
        if (v == first_high) vpsrld(raw, raw, high_shift);
        vmovdqa32(w, raw);
        constexpr uint8_t masked_and_flipped = 0x6a; // (w & mask) ^ flipped
        vpternlogd(w, mask(bit), flip, masked_and_flipped);
    }

    void make_float(const Zmm &w, int v, const Zmm &raw, const RegExp &row) {
        if (is_nibble(w_)) {
            if (v > 0) vpsrld(w, raw, static_cast<uint8_t>(4 * v));
            vpermps(w, v > 0 ? w : raw, numbers_);
            return;
        }
        f8_.load_f32<isa_avx512_core>(w, ptr[row + weights_bytes(v)], scratch_);
        if (!scales_a()) f8_.multiply_by_unit(w);
    }
    // Sums that are scaled may overflow: skinny_gemm_t::redo_overflow().
    bool scales_a() const {
        return jit_f8_halves_t::unit_of(w_.type) != 1 && has_room() && !rounds_;
    }
    bool subtracts() const { return !is_float(w_); }

    void multiply(const Zmm &value, int v) {
        scale(value, v);
        if (has_room()) return vfmadd231ps(sum(0, v), value, vmm_a_);
        for (int r = 0; r < rows_; ++r)
            vfmadd231ps(sum(r, v), value, ptr_b[row_of_a(r)]);
    }

    // Turns the number into a weight. If sums are scaled, it stays the
    // difference from the zero point.
    void scale(const Zmm &value, int v) {
        if (subtracts() && has_room()) vsubps(value, value, zp(v));
        else if (subtracts()) vsubps(value, value, ptr[r11 + bytes(v)]);
        if (!rounds_) return;
        vmulps(value, value, ptr[r13 + bytes(v)]);
        if (!is_bf16_)
            lanes_.round(
                    value, w_.rounded, weights_rounding(w_), weight(v + 1));
    }

    // Multiplies the weights of both rows, interleaved as pairs.
    void multiply_pairs(int v) {
        const Zmm first = weight(0), second = weight(1);
        make_number(first, v, raw_, rcx);
        scale(first, v);
        make_number(second, v, second_raw_, rcx + r8);
        scale(second, v);
        vcvtne2ps2bf16(first, second, first);
        vpermw(first, order_, first);
        if (has_room()) return vdpbf16ps(sum(0, v), first, vmm_a_);
        for (int r = 0; r < rows_; ++r)
            vdpbf16ps(sum(r, v), first, ptr_b[row_of_a(r)]);
    }

    Zmm free_vmm() const override { return raw_; }
};

} // namespace

jit_n_lanes_panel_t n_lanes_panel_of(
        const skinny_weights_t &weights, dim_t rows) {
    for (int vectors = most_vectors; vectors > 1; vectors /= 2)
        if (rows * vectors <= most_sums_of(weights, vectors)
                && weights.cols % (vectors * jit_isa_t<isa_avx512_core>::simd_w)
                           == 0)
            return {vectors, is_nibble(weights)};
    return {};
}

float n_lanes_zp_bias(const skinny_weights_t &weights, int vector) {
    return unit_number(bit_of(weights, vector))
           + static_cast<float>(weights.sign_bit());
}

result_t make_jit_n_lanes_code(const skinny_weights_t &weights,
        const jit_n_lanes_panel_t &panel, int rows, jit_n_lanes_code_t &code) {
    return make_jit_as<jit_n_lanes_generator_t>(code, weights, panel, rows);
}

} // namespace dnnl_dequant
