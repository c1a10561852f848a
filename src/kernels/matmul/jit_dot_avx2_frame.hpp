#ifndef KERNELS_MATMUL_JIT_DOT_AVX2_FRAME_HPP
#define KERNELS_MATMUL_JIT_DOT_AVX2_FRAME_HPP

#include <vector>

#include "kernels/jit/generator.hpp"
#include "kernels/jit/registers.hpp"
#include "kernels/matmul/jit_dot_avx2_code.hpp"

namespace dnnl_dequant {

/// Where things are while columns are multiplied on AVX2.
///
/// Registers: rax rcx the columns of weights; rsi r9 r10 rbx the rows of a; rdx
/// sums, r8 and rbp their pitch and three times that; r11 r12 scales and zero
/// points; r13 how far ahead weights are asked for; r14 r15 steps and pieces to
/// go; rdi the arguments, which go on with the columns. The first eight vectors
/// are sums (of four tables four, and the next what comes of lookups), then
/// there are four tables, or a column's zero points, or of 8 bits zero point
/// and scale; four are scratch. Of those left some keep constants.
class jit_dot_avx2_frame_t : public jit_generator_t {
protected:
    using Ymm = Xbyak::Ymm;
    using Reg64 = Xbyak::Reg64;
    using RegExp = Xbyak::RegExp;
    using Address = Xbyak::Address;
    static constexpr int simd_w = jit_isa_t<isa_avx2>::simd_w;
    static constexpr int sums_in_turn = 2;
    static constexpr uint32_t vector_bytes = simd_w * 4;

    jit_dot_avx2_frame_t(const gemv_weights_t &weights, int rows)
        : jit_generator_t("jit_dot_avx2")
        , w_(weights)
        , shape_(dot_avx2_shape_of(weights))
        , rows_(rows)
        , cols_(shape_.cols(rows)) {}

    bool is_nibble() const { return bits_of(w_.type) == 4; }
    bool is_signed() const {
        return family_of(w_.type) == type_family_t::signed_int;
    }
    bool looks_up() const { return is_nibble() && !shape_.scales_sums; }
    bool has_zps() const { return w_.zps.type != data_type_t::undef; }

    Ymm sum(int row, int col, int turn) const {
        return Ymm((row * cols_ + col) * sums_in_turn + turn);
    }
    // Of the bytes 2, 3, 0 and 1 of a number; or zero points, of numbers at
    // bits 0 and 8.
    Ymm table(int col, int i) const { return Ymm(8 + 2 * col + i); }
    Ymm zp(int col) const { return table(col, 0); }
    Ymm scale(int col) const { return table(col, 1); }
    const Ymm index_ {12}, weight_ {13}, scratch_ {14};
    // Halves of the numbers of sixteen nibbles.
    Ymm upper(int i) const {
        return shape_.planes > 2 ? Ymm(4 + i) : Ymm(15 - i);
    }
    Ymm lower(int i) const { return Ymm(6 + i); }

    // Of nibbles that are no lookups, at bit 0 and at bit 8 of a word.
    static uint32_t mask(int i) { return 0x000f000fu << (8 * i); }
    static constexpr uint32_t halves[] = {0x4b004b00, 0x47004700};
    enum kept_t { shifts, masks, upper_halves = masks + 2, all_kept = 5 };
    static lanes_t lanes_of(int what) {
        lanes_t lanes;
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i] = what == shifts        ? i % simd_w / 4 * 4
                       : what < upper_halves ? mask(what - masks)
                                             : halves[what - upper_halves];
        return lanes;
    }
    // The registers that nobody else wants.
    std::vector<int> idle() const {
        std::vector<int> all;
        for (int i = rows_ * cols_ * sums_in_turn; i < index_.getIdx(); ++i)
            if (i < table(0, 0).getIdx() || i >= table(cols_, 0).getIdx())
                all.push_back(i);
        all.push_back(scratch_.getIdx() + 1);
        return all;
    }
    // Calls use() with a constant, in its register or in memory.
    template <typename use_t>
    void with(int what, use_t &&use) {
        const std::vector<int> kept = idle();
        const auto i = static_cast<size_t>(what);
        if (i < kept.size()) use(Ymm(kept[i]));
        else use(constant(lanes_of(what)));
    }
    void load_kept() {
        const std::vector<int> kept = idle();
        for (int i = 0; i < all_kept && i < static_cast<int>(kept.size()); ++i)
            vmovups(Ymm(kept[static_cast<size_t>(i)]), constant(lanes_of(i)));
    }

    Reg64 weights(int col) const { return col == 0 ? rax : rcx; }
    Reg64 row_of_a(int row) const {
        const Reg64 bases[] = {rsi, r9, r10, rbx};
        return bases[row];
    }
    RegExp sums(int row, int col) const {
        const RegExp rows[] = {rdx, rdx + r8, rdx + r8 * 2, rdx + rbp};
        return rows[row] + static_cast<size_t>(col) * vector_bytes;
    }
    Address arg(size_t offset) { return qword[rdi + offset]; }
    uint32_t parameter_bytes(int cols) const {
        const dim_t stride = w_.by_column ? w_.groups() : 1;
        return static_cast<uint32_t>(cols * stride * 4);
    }
    // A parameter of the column.
    Address of(const Reg64 &base, int col) {
        return ptr[base + parameter_bytes(col)];
    }

    const gemv_weights_t w_;
    const jit_dot_avx2_shape_t shape_;
    const int rows_, cols_;
};

} // namespace dnnl_dequant

#endif
