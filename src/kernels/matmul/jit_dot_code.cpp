// A few rows times a few columns of weights of 4 or 8 bits, whose elements lie
// one after the other along the depth.
//
// A group's 4-bit weights are looked up in a table of the 16 numbers they stand
// for, (weight - zp) * scale, rounded if they are to be. A 32-bit lane of what
// is loaded holds eight of them (or four, or two, spread out), a 16-bit lane
// half as many where numbers are bf16: vector j of a step has the j-th of each
// lane, and src is arranged likewise. So a vector of weights costs a shift and
// a permutation. The sums stay in registers down the whole depth, sixteen
// partial ones each.
//
// Registers: rax rcx rdx rbx the columns of weights, rbp the offset there; rsi
// r9 r10 three rows of a each; r8 a's pitch; r11 r12 scales and zero points;
// r13 where the weights read next begin; r14 r15 steps and groups to go; rdi
// the arguments. The first vectors are the sums; then each column's weights as
// they lie, its table (of 8 bits: scale and zero point) and a vector of
// weights; then one of a; the last are the numbers of a nibble and scratch.

#include "kernels/matmul/jit_dot_code.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/matmul/nibble_lookup.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int sum_lanes = 16;

class jit_dot_generator_t : public jit_generator_t {
public:
    jit_dot_generator_t(const gemv_weights_t &weights, int rows, int cols)
        : jit_generator_t("jit_dot")
        , w_(weights)
        , rows_(rows)
        , cols_(cols)
        , step_(dot_step_of(weights))
        , lookup_(*this, w_)
        , lanes_(*this, jit_isa_t<isa_avx512_core>::vmm_count,
                  data_type_t::undef) {}

private:
    bool is_nibble() const { return bits_of(w_.type) == 4; }
    bool is_signed() const {
        return family_of(w_.type) == type_family_t::signed_int;
    }
    bool has_zps() const { return lookup_.has_zps(); }
    bool is_bf16() const { return lookup_.is_bf16(); }
    // Where groups of bf16 are short: half of each vector is used.
    bool is_half() const { return is_bf16() && step_.lanes == 16; }
    Xmm sized(const Zmm &v) const {
        if (is_half()) return Ymm(v.getIdx());
        return v;
    }
    uint32_t step_bytes() const {
        return static_cast<uint32_t>(bytes_of(w_.type, step_.elements()));
    }
    // Of so many vectors.
    uint32_t bytes(data_type_t type, int vectors) const {
        return static_cast<uint32_t>(
                bytes_of(type, dim_t(vectors) * step_.lanes));
    }

    Zmm sum(int row, int col) const { return Zmm(row * cols_ + col); }
    Zmm of_column(int i, int col) const {
        return Zmm((rows_ + i) * cols_ + col);
    }
    // Of 4 bits, and of 8.
    Zmm raw(int col) const { return of_column(0, col); }
    Zmm table(int col) const { return of_column(1, col); }
    Zmm scale(int col) const { return of_column(0, col); }
    Zmm zp(int col) const { return of_column(1, col); }
    Zmm weight(int col) const { return of_column(2, col); }
    Zmm vmm_a() const { return of_column(3, 0); }
    const Zmm numbers_ {30}, scratch_ {31};
    const Opmask k_tail_ {1}, k_bytes_ {2}, k_upper_ {3};

    Reg64 weights(int col) const {
        const Reg64 columns[] = {rax, rcx, rdx, rbx};
        return columns[col];
    }
    RegExp row_of_a(int row) const {
        const Reg64 bases[] = {rsi, r9, r10};
        const RegExp base(bases[row / 3]);
        return row % 3 == 0 ? base : base + r8 * (row % 3);
    }
    Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() override {
        // What rounding needs is known when all else is generated.
        Label l_constants, l_begin;
        preamble();
        jmp(l_constants, T_NEAR);
        L(l_begin);
        load_arguments();
        for (int i = 0; i < rows_ * cols_; ++i)
            vpxord(Zmm(i), Zmm(i), Zmm(i));
        if (is_nibble()) vmovups(numbers_, constant(nibble_numbers(w_.type)));
        all_groups();
        store_sums();
        postamble();
        L(l_constants);
        lanes_.load_constants();
        jmp(l_begin, T_NEAR);
    }

    void load_arguments() {
        for (int c = 0; c < cols_; ++c)
            mov(weights(c), arg(offsetof(jit_dot_args_t, weights)
                                    + static_cast<size_t>(c) * 8));
        mov(rsi, arg(offsetof(jit_dot_args_t, a)));
        mov(r8, arg(offsetof(jit_dot_args_t, a_pitch)));
        mov(r11, arg(offsetof(jit_dot_args_t, scales)));
        mov(r12, arg(offsetof(jit_dot_args_t, zps)));
        mov(r13, arg(offsetof(jit_dot_args_t, ahead)));
        if (rows_ > 3) {
            lea(r9, ptr[r8 + r8 * 2]);
            lea(r10, ptr[rsi + r9 * 2]);
            add(r9, rsi);
        }
        xor_(ebp, ebp);
    }

    void all_groups() {
        const dim_t full = w_.depth / w_.group, rest = w_.depth % w_.group;
        if (full > 0) {
            Label l_group;
            mov(r15, static_cast<uint64_t>(full));
            L(l_group);
            group(w_.group);
            dec(r15);
            jnz(l_group, T_NEAR);
        }
        if (rest > 0) group(rest);
    }

    void group(dim_t depth) {
        load_parameters();
        const dim_t step = step_.elements(), steps = depth / step;
        if (steps > 1) {
            Label l_step;
            mov(r14, static_cast<uint64_t>(steps));
            align(32);
            L(l_step);
            this->step(0);
            dec(r14);
            jnz(l_step, T_NEAR);
        } else if (steps == 1) {
            this->step(0);
        }
        if (depth % step != 0) this->step(static_cast<int>(depth % step));
    }

    void load_parameters() {
        const auto of = [&](const Reg64 &base, int c) {
            return base + static_cast<size_t>(c * w_.groups() * 4);
        };
        for (int c = 0; c < cols_; ++c) {
            if (!is_nibble()) {
                vbroadcastss(scale(c), ptr[of(r11, c)]);
                if (has_zps()) vbroadcastss(zp(c), ptr[of(r12, c)]);
                continue;
            }
            lookup_.make_table(table(c), numbers_, ptr_b[of(r11, c)],
                    ptr_b[of(r12, c)], lanes_, scratch_);
        }
        add(r11, 4);
        if (has_zps()) add(r12, 4);
    }

    // `tail` elements, or all where that is 0.
    void step(int tail) {
        for (int c = 0; c < cols_; ++c) {
            prefetcht0(ptr[weights(c) + r13]);
            if (is_nibble()) load_nibbles(c, tail);
        }
        for (int j = 0; j < step_.vectors; ++j) {
            const int lanes = tail == 0 ? step_.lanes : lanes_of(j, tail);
            if (lanes == 0) continue;
            const bool masked = lanes < step_.lanes;
            if (masked) set_tail_masks(lanes);
            for (int c = 0; c < cols_; ++c)
                make_weights(c, j, masked);
            for (int r = 0; r < rows_; ++r) {
                load_a(ptr[row_of_a(r) + bytes(w_.multiplied, j)], masked);
                for (int c = 0; c < cols_; ++c)
                    multiply_add(r, c, masked);
            }
        }
        if (tail != 0) return;
        add(rbp, step_bytes());
        add(r13, step_bytes());
        for (int r = 0; r < rows_; r += 3)
            add(r == 0       ? rsi
                    : r == 3 ? r9
                             : r10,
                    bytes(w_.multiplied, step_.vectors));
    }

    void set_tail_masks(int lanes) {
        mov(r14d, (1u << lanes) - 1);
        if (!is_bf16()) return kmovw(k_tail_, r14d);
        kmovd(k_tail_, r14d);
        kshiftrd(k_upper_, k_tail_, 16);
    }

    void load_a(const Address &at, bool masked) {
        if (!masked) vmovups(sized(vmm_a()), at);
        else if (is_bf16()) vmovdqu16(sized(vmm_a()) | k_tail_ | T_z, at);
        else vmovups(vmm_a() | k_tail_ | T_z, at);
    }

    // Of bf16, what is left out is 0 on both sides: a lane is a pair.
    void multiply_add(int r, int c, bool masked) {
        if (masked && !is_bf16())
            return lookup_.multiply_add(
                    sum(r, c) | k_tail_, weight(c), vmm_a());
        lookup_.multiply_add(
                sized(sum(r, c)), sized(weight(c)), sized(vmm_a()));
    }

    // Of the first `tail` elements, those in vector j.
    int lanes_of(int j, int tail) const {
        if (is_nibble()) return div_up(tail - j, step_.vectors);
        return std::min(std::max(tail - j * step_.lanes, 0), step_.lanes);
    }

    // Each lane has as many of them as there are vectors, from its lowest bits
    // on.
    void load_nibbles(int c, int tail) {
        const Address at = ptr[weights(c) + rbp];
        if (tail == 0) return spread_nibbles(raw(c), at);
        const int n = raw(c).getIdx(), bytes = (tail + 1) / 2;
        mov(r14, ~uint64_t(0) >> (64 - bytes));
        kmovq(k_bytes_, r14);
        vmovdqu8(raw(c) | k_bytes_ | T_z, at);
        if (widening() == 4 || is_half()) spread_nibbles(raw(c), Xmm(n));
        else if (widening() == 2) spread_nibbles(raw(c), Ymm(n));
    }

    // How many times as wide a lane is as the nibbles that it gets.
    int widening() const { return (is_bf16() ? 4 : 8) / step_.vectors; }

    void spread_nibbles(const Zmm &to, const Operand &from) {
        if (widening() == 1) vmovdqu32(to, from);
        else if (is_bf16()) vpmovzxbw(sized(to), from);
        else if (widening() == 2) vpmovzxwd(to, from);
        else vpmovzxbd(to, from);
    }

    void make_weights(int c, int j, bool masked) {
        const Zmm w = weight(c);
        if (is_nibble())
            return lookup_.look_up(sized(w), sized(raw(c)), j, sized(table(c)),
                    masked && is_bf16() ? &k_tail_ : nullptr);
        const RegExp at = weights(c) + rbp + bytes(w_.type, j);
        scale_bytes(w, c, ptr[at], masked ? &k_tail_ : nullptr);
        if (!is_bf16())
            return lanes_.round(w, w_.rounded, weights_rounding(w_), scratch_);
        const Ymm half(w.getIdx());
        if (is_half())
            return vcvtneps2bf16(masked ? half | k_tail_ | T_z : half, w);
        scale_bytes(
                scratch_, c, ptr[at + sum_lanes], masked ? &k_upper_ : nullptr);
        vcvtne2ps2bf16(masked ? w | k_tail_ | T_z : w, scratch_, w);
    }

    // Sixteen of a column's weights of 8 bits as f32.
    void scale_bytes(
            const Zmm &w, int c, const Address &at, const Opmask *mask) {
        const Zmm loaded = mask ? w | *mask | T_z : w;
        if (is_signed()) vpmovsxbd(loaded, at);
        else vpmovzxbd(loaded, at);
        vcvtdq2ps(w, w);
        if (has_zps()) vsubps(w, w, zp(c));
        vmulps(w, w, scale(c));
    }

    void store_sums() {
        mov(rax, arg(offsetof(jit_dot_args_t, sums)));
        for (int i = 0; i < rows_ * cols_; ++i) {
            const Ymm half(i);
            const Xmm quarter(i), x(scratch_.getIdx());
            vextractf64x4(Ymm(scratch_.getIdx()), Zmm(i), 1);
            vaddps(half, half, Ymm(scratch_.getIdx()));
            vextractf32x4(x, half, 1);
            vaddps(quarter, quarter, x);
            vpermilps(x, quarter, 0x4e);
            vaddps(quarter, quarter, x);
            vpermilps(x, quarter, 0xb1);
            vaddps(quarter, quarter, x);
            vmovss(ptr[rax + static_cast<size_t>(i) * 4], quarter);
        }
    }

    const gemv_weights_t w_;
    const int rows_, cols_;
    const nibble_step_t step_;
    jit_nibble_lookup_t lookup_;
    jit_lanes_t<isa_avx512_core> lanes_;
};

} // namespace

nibble_step_t dot_step_of(const gemv_weights_t &weights) {
    const int most = bits_of(weights.type) == 4 ? 128 : 64;
    const bool is_bf16 = weights.multiplied == data_type_t::bf16;
    for (int step = most; step >= most / 4; step /= 2) {
        const int lanes = is_bf16 && step > most / 4 ? 32 : 16;
        if (weights.group >= weights.depth || weights.group % step == 0)
            return {step / lanes, lanes};
    }
    return {};
}

result_t make_jit_dot_code(const gemv_weights_t &weights, int rows, int cols,
        jit_dot_code_t &code) {
    return make_jit_as<jit_dot_generator_t>(code, weights, rows, cols);
}

} // namespace dnnl_dequant
