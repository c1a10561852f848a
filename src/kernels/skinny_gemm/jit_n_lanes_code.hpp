#ifndef KERNELS_SKINNY_GEMM_JIT_N_LANES_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_N_LANES_CODE_HPP

#include <algorithm>
#include <cmath>

#include "base/bits.hpp"
#include "kernels/jit/bf16_pairs.hpp"
#include "kernels/jit/constants.hpp"
#include "kernels/skinny_gemm/jit_n_lanes_frame.hpp"

namespace dnnl_dequant {

/// A skinny GEMM by [K,N] weights of 2, 4 or 8 bits on AVX-512, N lanes. Each
/// panel of columns goes down some rows of one group. The sums stay in
/// registers and are scaled once, when the group ends.
///
/// A nibble n at bit b of a lane, in the significand of 2^(23 - b), makes the
/// number 2^(23 - b) + n. One operation cuts it out and makes it a float. Zero
/// points carry the same bias, so one subtraction removes both; both steps are
/// exact. The sign bit of a signed nibble is flipped, which adds 8. Weights of
/// 8 bits are the case b = 0, where the flip adds 128.
///
/// Floats have no zero points. If they have 4 bits they are looked up, if they
/// have 8 they become f16 first. e4m3 is then a multiple of 2^-8, so one row's
/// element of src, or else the weight, is multiplied by 2^8.
///
/// A lane has as many nibbles as a panel has vectors: vector j has the j-th of
/// each lane. Scales, zero points and sums have that order too.
///
/// Registers: see jit_n_lanes_frame_t. The first 24 vectors are sums, the next
/// one is what was loaded, then come the masks. Two alternate as weights.
class jit_n_lanes_code_t : public jit_n_lanes_frame_t<isa_avx512_core> {
public:
    /// The rows that are multiplied at once.
    static constexpr dim_t most_rows = 12;

    jit_n_lanes_code_t(const skinny_weights_t &weights,
            const jit_n_lanes_panel_t &panel, int rows)
        : jit_n_lanes_frame_t("jit_n_lanes", weights, is_integer(weights.type),
                  panel, jit_isa_t<isa_avx512_core>::vmm_count, rows) {}

    /// Returns the widest panel that leaves registers for the sums of `rows`
    /// rows and divides the columns. kernels.def ensures that there is one.
    static jit_n_lanes_panel_t panel_of(
            const skinny_weights_t &weights, dim_t rows) {
        const bool is_bf16 = weights.multiplied == data_type_t::bf16;
        for (int vectors = most_vectors; vectors > 1; vectors /= 2) {
            // Pairs need more registers next to the sums if nibbles need masks.
            const int most_sums = is_bf16 && vectors > 2 ? 20 : 24;
            if (rows * vectors <= most_sums
                    && weights.cols % (vectors * simd_w) == 0)
                return {vectors, weights.are_nibbles()};
        }
        return {};
    }
    /// Returns the bias that the caller adds to the zero points of a panel's
    /// vector.
    static float zp_bias(const skinny_weights_t &weights, int vector) {
        const int bit = weights.are_nibbles() ? bit_of_nibble(vector) : 0;
        return unit_number(bit) + static_cast<float>(weights.sign_bit());
    }
    static float scale_factor(const skinny_weights_t & /*weights*/) {
        return 1;
    }

private:
    static constexpr int most_vectors = 8;
    // The nibbles from `first_high` on lie too high for a significand. A shift
    // by `high_shift` brings them down.
    static constexpr int high_shift = 12, first_high = 5;
    static int bit_of_nibble(int vector) {
        return 4 * vector - (vector >= first_high ? high_shift : 0);
    }
    static float unit_number(int bit) { return std::ldexp(1.f, 23 - bit); }

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

    void load_constants() override {
        const int count = is_nibble() ? std::min(vectors_, first_high) : 1;
        for (int bit = 0; has_zps() && bit < 4 * count; bit += 4) {
            if (is_nibble()) kept_.hold(same_lanes(0xfu << bit), mask(bit));
            if (has_room())
                kept_.hold(same_lanes(flipped_bits(bit)), flipped(bit));
        }
        kept_.load();
        if (!has_zps() && is_nibble())
            vmovups(numbers_, constant(nibble_numbers(w_.type)));
        if (is_bf16()) vmovups(order_, constant(order_of_bf16_pairs()));
    }

    void begin_panel() override {
        for (int v = 0; has_zps() && has_room() && v < vectors_; ++v)
            vmovups(zp(v), ptr[r11 + bytes(v)]);
    }

    void row_of_weights() override {
        prefetch_row(rcx + r9);
        if (is_nibble()) load_nibbles(raw_, rcx);
        if (is_bf16()) {
            // An address has at most two registers.
            lea(r9, ptr[r9 + r8]);
            prefetch_row(rcx + r9);
            sub(r9, r8);
            if (is_nibble()) load_nibbles(second_raw_, rcx + r8);
        }
        if (has_room()) vbroadcastss(vmm_a_, ptr[row_of_a(0)]);
        if (scales_a()) multiply_by_unit(vmm_a_);
        for (int v = 0; v < vectors_; ++v) {
            if (is_bf16()) {
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
        spread_nibbles(raw, ptr[row], 32, most_vectors / vectors_, weight(0));
    }

    // Returns the bits that turn a nibble at `bit` into a number: those of
    // unit_number(), and the flipped sign bit.
    uint32_t flipped_bits(int bit) const {
        return bits_of_f32(unit_number(bit)) | w_.sign_bit() << bit;
    }

    // Makes a number that exceeds the weight by unit_number() and the flipped
    // sign.
    void make_number(const Zmm &w, int v, const Zmm &raw, const RegExp &row) {
        if (!has_zps()) return make_float(w, v, raw, row);
        const int bit = is_nibble() ? bit_of_nibble(v) : 0;
        if (is_nibble() && v == first_high) vpsrld(raw, raw, high_shift);
        kept_.with(flipped_bits(bit), [&](const Operand &flip) {
            constexpr uint8_t masked_and_flipped = 0x6a; // (w & mask) ^ flipped
            if (is_nibble()) {
                vmovdqa32(w, raw);
                vpternlogd(w, mask(bit), flip, masked_and_flipped);
            } else {
                vpmovzxbd(w, ptr[row + weights_bytes(v)]);
                vpxord(w, w, flip);
            }
        });
    }

    void make_float(const Zmm &w, int v, const Zmm &raw, const RegExp &row) {
        if (is_nibble()) {
            if (v > 0) vpsrld(w, raw, static_cast<uint8_t>(4 * v));
            vpermps(w, v > 0 ? w : raw, numbers_);
            return;
        }
        load_f32(w, ptr[row + weights_bytes(v)], scratch_);
        if (!scales_a()) multiply_by_unit(w);
    }
    // Sums that are scaled may overflow: skinny_gemm_t::multiply().
    bool scales_a() const {
        return jit_f8_halves_t::unit_of(w_.type) != 1 && has_room() && !rounds_;
    }

    void multiply(const Zmm &value, int v) {
        scale(value, v);
        if (has_room()) return vfmadd231ps(sum(0, v), value, vmm_a_);
        for (int r = 0; r < rows_; ++r)
            vfmadd231ps(sum(r, v), value, ptr_b[row_of_a(r)]);
    }

    // Turns the number into a weight. If sums are scaled, it stays the
    // difference from the zero point.
    void scale(const Zmm &value, int v) {
        if (has_zps() && has_room()) vsubps(value, value, zp(v));
        else if (has_zps()) vsubps(value, value, ptr[r11 + bytes(v)]);
        if (!rounds_) return;
        vmulps(value, value, ptr[r13 + bytes(v)]);
        if (!is_bf16())
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

    // Masks and, if there is room, flipped bits.
    jit_constants_t<isa_avx512_core> kept_ {
            *this, jit_isa_t<isa_avx512_core>::vmm_count};
};

} // namespace dnnl_dequant

#endif
