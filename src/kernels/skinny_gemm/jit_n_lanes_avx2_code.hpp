#ifndef KERNELS_SKINNY_GEMM_JIT_N_LANES_AVX2_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_N_LANES_AVX2_CODE_HPP

#include "kernels/jit/constants.hpp"
#include "kernels/skinny_gemm/jit_n_lanes_frame.hpp"

namespace dnnl_dequant {

/// A skinny GEMM by [K,N] weights of 2, 4 or 8 bits on AVX2, N lanes. Each
/// panel of columns goes down some rows of one group. The sums stay in
/// registers and are scaled once, when the group ends.
///
/// An integer n in the significand of 2^23 makes the number 2^23 + n. Zero
/// points carry the same bias, so one subtraction removes both. The sign bit of
/// a signed integer is flipped, which adds half its range.
///
/// A word has four nibbles. One vpand cuts the same nibble out of sixteen
/// words. One unpack puts the upper half of 2^23 next to eight of them. A
/// nibble at bit 8 takes the upper half of 2^15, to which bit 8 has the
/// value 1. So a vector has the j-th nibble of each word. Scales, zero points
/// and sums have that order too; make_jit_deinterleave() makes it.
///
/// Weights that the graph rounds are scaled and rounded one by one, for one row
/// only.
///
/// Registers: see jit_n_lanes_frame_t. The first eight vectors are sums, or the
/// first twelve if there are three rows. With eight sums the next ones keep
/// masks and upper halves.
class jit_n_lanes_avx2_code_t : public jit_n_lanes_frame_t<isa_avx2> {
public:
    jit_n_lanes_avx2_code_t(const skinny_weights_t &weights,
            const jit_n_lanes_panel_t &panel, int rows)
        : jit_n_lanes_frame_t(
                  "jit_n_lanes_avx2", weights, panel, first_rounding, rows) {}

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
        const bool is_upper
                = weights.are_nibbles() && vector % words_nibbles >= 2;
        return static_cast<float>(
                (1u << (is_upper ? 15 : 23)) + weights.sign_bit());
    }

private:
    static constexpr int most_sums = 12, words_nibbles = 4;
    // Rounding keeps its constants in the last vectors and leaves room for
    // the sums of one row.
    static constexpr int first_rounding = 13, sums_of_one_row = 8;
    int behind_sums() const { return rounds_ ? sums_of_one_row : most_sums; }
    Ymm weight(int v) const { return Ymm(behind_sums() + v % 2); }
    Ymm raw() const { return Ymm(behind_sums() + 2); }
    Ymm vmm_a() const { return Ymm(behind_sums() + 3); }
    Ymm scratch() const { return Ymm(behind_sums() + 4); }

    // Returns the mask of the nibbles at bit 0 or at bit 8 of a word.
    static uint32_t mask(int bit) { return 0x000f000fu << bit; }
    static uint32_t upper_half(int bit) {
        constexpr uint32_t of_2_to_23 = 0x4b00, of_2_to_15 = 0x4700;
        return (bit == 0 ? of_2_to_23 : of_2_to_15) * 0x00010001u;
    }
    bool has_room() const {
        return !rounds_ && rows_ * vectors_ <= sums_of_one_row;
    }

    void load_constants() override {
        for (int bit = 0; bit <= 8 && is_nibble() && has_room(); bit += 8) {
            kept_.hold(same_lanes(mask(bit)), Ymm(sums_of_one_row + bit / 8));
            kept_.hold(same_lanes(upper_half(bit)),
                    Ymm(sums_of_one_row + 2 + bit / 8));
        }
        kept_.load();
    }

    void row_of_weights() override {
        prefetcht0(ptr[rcx + r9]);
        if (rows_ == 1) vbroadcastss(vmm_a(), ptr[rax]);
        if (is_nibble()) return all_nibbles();
        for (int v = 0; v < vectors_; ++v) {
            if (is_f8()) {
                load_f32(weight(v), ptr[rcx + weights_bytes(v)], weight(v + 1));
                multiply_by_unit(weight(v));
                multiply(weight(v), v);
                continue;
            }
            constexpr uint32_t bits_of_2_to_23 = 0x4b000000;
            vpmovzxbd(weight(v), ptr[rcx + weights_bytes(v)]);
            vpxor(weight(v), weight(v),
                    constant(bits_of_2_to_23 | w_.sign_bit()));
            multiply(weight(v), v);
        }
    }

    void all_nibbles() {
        // With half as many words, the first four go to one lane, the others to
        // the other.
        constexpr uint8_t to_lanes = 0x10;
        const bool is_half = vectors_ == words_nibbles;
        spread_nibbles(
                is_half ? half_of(raw()) : raw(), ptr[rcx], 32, 1, weight(0));
        if (is_half) vpermq(raw(), raw(), to_lanes);
        if (is_signed())
            vpxor(raw(), raw(), constant(w_.sign_bit() * 0x11111111u));
        for (int j = 0; j < words_nibbles; j += 2)
            nibbles_at(4 * j, j);
        vpsrlw(raw(), raw(), 4);
        for (int j = 1; j < words_nibbles; j += 2)
            nibbles_at(4 * (j - 1), j);
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
            lanes_.round(number, w_.rounded, weights_rounding(w_), scratch());
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
