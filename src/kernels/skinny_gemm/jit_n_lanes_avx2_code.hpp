#ifndef KERNELS_SKINNY_GEMM_JIT_N_LANES_AVX2_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_N_LANES_AVX2_CODE_HPP

#include <cmath>

#include "base/bits.hpp"
#include "base/convert.hpp"
#include "kernels/jit/constants.hpp"
#include "kernels/skinny_gemm/jit_n_lanes_frame.hpp"

namespace dnnl_dequant {

/// A skinny GEMM by [K,N] weights of 2, 4 or 8 bits on AVX2, N lanes. Each
/// panel of columns goes down some rows of one group. The sums stay in
/// registers and are scaled once, when the group ends.
///
/// Weights of 8 bits are converted. A word has four nibbles. One vpand cuts the
/// same nibble out of sixteen words. One unpack puts the upper half of 2^23
/// next to eight of them, which makes the number 2^23 + n of a nibble n. A
/// nibble at bit 8 takes the upper half of 2^15, to which bit 8 has the
/// value 1. Zero points carry the same bias, so one subtraction removes both.
/// The sign bit of a signed nibble is flipped, which adds 8. So a vector has
/// the j-th nibble of each word. Scales, zero points and sums have that order
/// too; make_jit_deinterleave() makes it.
///
/// Floats of 4 bits are multiples of 1/2. A table gives each nibble a byte, its
/// number of halves plus 12. The upper halves are those of 2^22 and 2^14, to
/// which the lowest bit of that byte has the value 1/2.
///
/// Weights that the graph rounds are scaled and rounded one by one.
///
/// Registers: see jit_n_lanes_frame_t. The first eight vectors are sums, or the
/// first twelve if there are three rows. With eight sums of weights that are
/// not rounded the next ones keep masks and upper halves.
class jit_n_lanes_avx2_code_t : public jit_n_lanes_frame_t<isa_avx2> {
public:
    /// The rows that are multiplied at once.
    static constexpr dim_t most_rows = 3;

    jit_n_lanes_avx2_code_t(const skinny_weights_t &weights,
            const jit_n_lanes_panel_t &panel, int rows)
        : jit_n_lanes_frame_t("jit_n_lanes_avx2", weights,
                  weights.are_nibbles()
                          || weights.zps.type != data_type_t::undef,
                  panel,
                  rows * panel.vectors > fewer_sums ? all_vmms : first_rounding,
                  rows) {}

    /// Returns the widest panel that leaves registers for the sums of `rows`
    /// rows and divides the columns. kernels.def ensures that there is one.
    static jit_n_lanes_panel_t panel_of(
            const skinny_weights_t &weights, dim_t rows) {
        for (int vectors = 8; vectors >= 4; vectors /= 2)
            if (rows * vectors <= most_sums
                    && weights.cols % (vectors * simd_w) == 0)
                return {vectors, weights.are_nibbles()};
        return {};
    }
    /// Returns the bias that the caller adds to the zero points of a panel's
    /// vector.
    static float zp_bias(const skinny_weights_t &weights, int vector) {
        if (!weights.are_nibbles()) return 0.f;
        const bool is_upper = vector % words_nibbles >= 2;
        const float least_zero
                = is_integer(weights.type)
                          ? static_cast<float>(weights.sign_bit())
                          : byte_of_zero * byte_unit;
        return unit_number(weights.type, is_upper ? 8 : 0) + least_zero;
    }

    /// Returns what the caller multiplies the scales of nibbles by.
    static float scale_factor(const skinny_weights_t &weights) {
        return weights.are_ordinary
                       ? jit_lanes_t<isa_avx2>::factor_to_round(weights.rounded)
                       : 1.f;
    }

private:
    static constexpr int most_sums = 12, words_nibbles = 4;
    // Rounding keeps its constants in the last vectors, if there are fewer
    // sums than twelve.
    static constexpr int first_rounding = 13, all_vmms = 16, fewer_sums = 8;
    bool has_fewer_sums() const { return rows_ * vectors_ <= fewer_sums; }
    int behind_sums() const {
        return rounds_ && has_fewer_sums() ? fewer_sums : most_sums;
    }
    Ymm weight(int v) const { return Ymm(behind_sums() + v % 2); }
    Ymm raw() const { return Ymm(behind_sums() + 2); }
    Ymm vmm_a() const { return Ymm(behind_sums() + 3); }
    // An element of src is loaded after a weight is rounded.
    Ymm scratch() const {
        return has_fewer_sums() ? Ymm(behind_sums() + 4) : vmm_a();
    }

    // Floats of 4 bits: what the table has for 0, and the value of 1 there.
    static constexpr float byte_of_zero = 12, byte_unit = .5f;

    // Returns the number whose significand a nibble at bit 0 or 8 of a word, or
    // a byte of the table, is put into.
    static float unit_number(data_type_t type, int bit) {
        return std::ldexp(is_integer(type) ? 1.f : byte_unit, 23 - bit);
    }
    // Returns the mask of what is put there from each word.
    uint32_t mask(int bit) const {
        return (is_integer(w_.type) ? 0x000f000fu : 0x00ff00ffu) << bit;
    }
    uint32_t upper_half(int bit) const {
        return (bits_of_f32(unit_number(w_.type, bit)) >> 16) * 0x00010001u;
    }
    bool has_room() const { return !rounds_ && has_fewer_sums(); }

    void load_constants() override {
        for (int bit = 0; bit <= 8 && is_nibble() && has_room(); bit += 8) {
            kept_.hold(same_lanes(mask(bit)), Ymm(fewer_sums + bit / 8));
            kept_.hold(
                    same_lanes(upper_half(bit)), Ymm(fewer_sums + 2 + bit / 8));
        }
        kept_.load();
    }

    void row_of_weights() override {
        prefetcht0(ptr[rcx + r9]);
        if (rows_ == 1) vbroadcastss(vmm_a(), ptr[rax]);
        if (scales_a()) multiply_by_unit(vmm_a());
        if (is_nibble()) return all_nibbles();
        for (int v = 0; v < vectors_; ++v) {
            load_f32(weight(v), ptr[rcx + weights_bytes(v)], weight(v + 1));
            if (is_f8() && !scales_a()) multiply_by_unit(weight(v));
            multiply(weight(v), v);
        }
    }
    // Sums that are scaled may overflow: skinny_gemm_t::multiply().
    bool scales_a() const { return is_f8() && rows_ == 1 && !rounds_; }

    void all_nibbles() {
        load_words();
        if (is_signed())
            vpxor(raw(), raw(), constant(w_.sign_bit() * 0x11111111u));
        if (!is_integer(w_.type)) look_up();
        for (int j = 0; j < words_nibbles; j += 2)
            nibbles_at(4 * j, j);
        // The table's bytes are where the words were.
        if (!is_integer(w_.type)) load_words();
        vpsrlw(raw(), raw(), 4);
        if (!is_integer(w_.type)) look_up();
        for (int j = 1; j < words_nibbles; j += 2)
            nibbles_at(4 * (j - 1), j);
    }

    void load_words() {
        // With half as many words, the first four go to one lane, the others to
        // the other.
        constexpr uint8_t to_lanes = 0x10;
        const bool is_half = vectors_ == words_nibbles;
        spread_nibbles(
                is_half ? half_of(raw()) : raw(), ptr[rcx], 32, 1, weight(0));
        if (is_half) vpermq(raw(), raw(), to_lanes);
    }

    // Puts a byte in the place of each byte's lower nibble, and clears the
    // upper one.
    void look_up() {
        vpand(raw(), raw(), constant(0x0f0f0f0f));
        vmovups(weight(0), constant(table_of_halves()));
        vpshufb(raw(), weight(0), raw());
    }

    lanes_t table_of_halves() const {
        lanes_t lanes {};
        for (uint8_t nibble = 0; nibble < 16; ++nibble) {
            const auto entry = static_cast<uint32_t>(
                    dnnl_dequant::load_f32(w_.type, &nibble, 0) / byte_unit
                    + byte_of_zero);
            for (size_t lane = 0; lane < lanes.size(); lane += 4)
                lanes[lane + nibble / 4] |= entry << nibble % 4 * 8;
        }
        return lanes;
    }

    // Multiplies the nibbles at a bit: those of the words' lower halves are
    // vector j, those of the upper halves vector j + 4.
    void nibbles_at(int bit, int j) {
        const Ymm low = weight(0), high = weight(1);
        kept_.with(mask(bit),
                [&](const Operand &kept) { vpand(high, raw(), kept); });
        kept_.with(upper_half(bit), [&](const Operand &half) {
            vpunpcklwd(low, high, half);
            if (vectors_ > words_nibbles) vpunpckhwd(high, high, half);
        });
        multiply(low, j);
        if (vectors_ > words_nibbles) multiply(high, j + words_nibbles);
    }

    void multiply(const Ymm &number, int v) {
        if (has_zps()) vsubps(number, number, ptr[r11 + bytes(v)]);
        if (rounds_) {
            vmulps(number, number, ptr[r13 + bytes(v)]);
            if (is_nibble() && w_.are_ordinary)
                lanes_.round_multiplied(number, w_.rounded, scratch());
            else
                lanes_.round(
                        number, w_.rounded, weights_rounding(w_), scratch());
        }
        for (int r = 0; r < rows_; ++r) {
            if (rows_ > 1) vbroadcastss(vmm_a(), ptr[row_of_a(r)]);
            vfmadd231ps(sum(r, v), number, vmm_a());
        }
    }

    Ymm free_vmm() const override { return weight(0); }

    // Masks and upper halves, in registers if there is room.
    jit_constants_t<isa_avx2> kept_ {*this, jit_isa_t<isa_avx2>::vmm_count};
};

} // namespace dnnl_dequant

#endif
