// The AVX2 counterpart of jit_integer_n_lanes_code. Unpacking two rows of 32
// bytes of weights makes pairs, which are split into nibbles without a sign.
//
// Sums of eight pairs of products fit 16 bits, which are unsigned if src is.
// They are then added to sums of 32 bits in memory. A lane has two of them, an
// even and an odd one. The lane as a whole is added to the even sum. In the
// end the odd sum, shifted to its place, is subtracted from that. Sums of the
// weights stay 16 bits wide in memory unless a group is long. Bytes are split
// too: the sums of their upper halves are multiplied by sixteen.
//
// Registers besides the base's: rax has the panels to go where a panel begins,
// r14 the k4 blocks to go before sums are added to memory. The next line to
// prefetch is in r9, and the end of its row in rbp. The first twelve vectors
// are sums, if there are so many: four for each row and four for the weights.
// The others are scratch.

#include <cstdint>

#include "kernels/integer_gemm/jit_integer_n_lanes_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int halves = 2;
// The vectors of a set's sums: those of 16 bits, and those of 32.
constexpr int short_sums = 4, long_sums = 2 * short_sums;
constexpr int most_sums = 12, most_k4_blocks = 4;

class generator_t : public jit_integer_n_lanes_base_t {
public:
    using jit_integer_n_lanes_base_t::jit_integer_n_lanes_base_t;

private:
    // Returns the vectors of columns in half a panel.
    int vectors() const { return is_nibble() ? 8 : 4; }
    Ymm sum(int set, int v) const { return Ymm(set * short_sums + v); }
    Address long_sum(int half, int set, int v) {
        return ptr[r8 + vmm_bytes((half * sets() + set) * long_sums + v)];
    }

    void generate() override {
        preamble();
        load_arguments();
        mov(r15, arg(offsetof(args_t, c)));
        next_chunk_.begin();
        mov(rax, arg(offsetof(args_t, panels)));
        repeat(rax, [&] {
            push(rax);
            panel();
            pop(rax);
        });
        postamble();
    }

    void begin_sums() override {
        Label l_end;
        const Ymm zero(0);
        cmp(arg(offsetof(args_t, continues)), 0);
        jne(l_end, T_NEAR);
        clear(zero);
        for (int v = 0; v < halves * sets() * long_sums; ++v)
            vmovups(long_sum(0, 0, v), zero);
        L(l_end);
    }

    void add_chunk() override {
        for (int half = 0; half < halves; ++half)
            add_chunk(half);
    }
    void add_chunk(int half) {
        Label l_sums;
        lea(rax, ptr[rcx + vmm_bytes(half)]);
        load_k4_arguments();
        if (has_mask()) vmovups(mask_of_few_, constant(0x0f0f0f0fu));
        L(l_sums);
        for (int i = 0; i < sets() * short_sums; ++i)
            clear(Ymm(i));
        mov(r14d, most_k4_blocks);
        cmp(r10, r14);
        cmovl(r14, r10);
        sub(r10, r14);
        align(32);
        repeat(r14, [&] {
            add_k4(half == 0);
            next_k4();
        });
        for (int set = 0; set < sets(); ++set)
            lengthen(half, set);
        test(r10, r10);
        jnz(l_sums, T_NEAR);
    }

    // Prefetches as many lines of the next chunk as a k4 block has, one row
    // after the other: memory is read in the order of addresses.
    void prefetch_k4() {
        for (int i = 0; i < k4_depth; ++i)
            next_chunk_.advance(
                    line, [this](const Address &at) { prefetch_stream(at); });
    }

    // Prefetches only for the lower half of a panel. The upper half is in the
    // same lines.
    void add_k4(bool prefetches) {
        if (prefetches) prefetch_k4();
        for (int first = 0; first < k4_depth; first += 2)
            for (int part = 0; part < 2; ++part)
                add_pairs(first, part);
    }

    // Multiplies pairs of the lower or the upper bytes of each 128-bit lane.
    void add_pairs(int first, int part) {
        vmovdqu(low_, ptr[row(rax, first)]);
        if (part == 0) vpunpcklbw(low_, low_, ptr[row(rax, first + 1)]);
        else vpunpckhbw(low_, low_, ptr[row(rax, first + 1)]);
        if (bias_ != 0) vpxor(low_, low_, constant(flipped_bits()));
        vpsrlw(high_, low_, 4);
        for (const Ymm &nibbles : {low_, high_})
            if (has_mask()) vpand(nibbles, nibbles, mask_of_few_);
            else vpand(nibbles, nibbles, constant(0x0f0f0f0fu));
        const Ymm of_low[] = {low_, high_};
        for (int r = 0; r < rows_; ++r) {
            if (rows_ > 1 || part == 0)
                vpbroadcastw(a_, ptr[row_of_a(r) + static_cast<size_t>(first)]);
            for (int i = 0; i < 2; ++i) {
                if (w_.is_src_signed) vpmaddubsw(x_, of_low[i], a_);
                else vpmaddubsw(x_, a_, of_low[i]);
                vpaddw(sum(r, 2 * part + i), sum(r, 2 * part + i), x_);
            }
        }
        for (int i = 0; i < 2 && has_src_zps(); ++i)
            vpaddb(sum(rows_, 2 * part + i), sum(rows_, 2 * part + i),
                    of_low[i]);
    }

    bool is_signed(int set) const { return w_.is_src_signed && set < rows_; }
    bool stays_short(int set) const {
        constexpr dim_t most_of_nibble = 15;
        return set == rows_ && w_.group * most_of_nibble <= UINT16_MAX;
    }

    // Widens the sums of a vector: even columns first, then odd ones.
    void lengthen(int half, int set) {
        const Ymm even = low_, odd = high_;
        for (int v = 0; v < short_sums; ++v) {
            const Ymm from = sum(set, v);
            const Address of_even = long_sum(half, set, 2 * v),
                          of_odd = long_sum(half, set, 2 * v + 1);
            if (set == rows_) vpmaddubsw(from, from, constant(0x01010101u));
            if (stays_short(set)) {
                vpaddw(from, from, of_even);
                vmovups(of_even, from);
                continue;
            }
            if (is_signed(set)) {
                vpmaddwd(even, from, constant(1));
                vpaddd(even, even, of_even);
                vpsrad(odd, from, 16);
            } else {
                vpaddd(even, from, of_even);
                vpsrld(odd, from, 16);
            }
            vpaddd(odd, odd, of_odd);
            vmovups(of_even, even);
            vmovups(of_odd, odd);
        }
    }

    void load_lengthened(int half, int set, int v, const Ymm &even,
            const Ymm &odd, const Ymm &x) {
        vmovups(even, long_sum(half, set, 2 * v));
        if (stays_short(set)) vpsrld(odd, even, 16);
        else vmovups(odd, long_sum(half, set, 2 * v + 1));
        if (is_signed(set)) return;
        vpslld(x, odd, 16);
        vpsubd(even, even, x);
    }

    // Loads a part's sums of a set in the order of columns, those of the lower
    // lanes first. Eight vectors are scratch.
    void load_in_order(int half, int part, int set, int to) {
        const Ymm even(4), odd(5), even_high(6), odd_high(7);
        load_lengthened(half, set, 2 * part, even, odd, Ymm(8));
        load_lengthened(half, set, 2 * part + 1, even_high, odd_high, Ymm(8));
        if (!is_nibble()) {
            vpslld(even_high, even_high, 4);
            vpslld(odd_high, odd_high, 4);
            vpaddd(even, even, even_high);
            vpaddd(odd, odd, odd_high);
            vpunpckldq(Ymm(8), even, odd);
            vpunpckhdq(Ymm(9), even, odd);
            join_lanes(8, to, to + 1);
            return;
        }
        const Ymm a(8), b(9), c(10), d(11);
        vpunpckldq(a, even, even_high);
        vpunpckhdq(b, even, even_high);
        vpunpckldq(c, odd, odd_high);
        vpunpckhdq(d, odd, odd_high);
        vpunpcklqdq(Ymm(4), a, c);
        vpunpckhqdq(Ymm(5), a, c);
        vpunpcklqdq(Ymm(6), b, d);
        vpunpckhqdq(Ymm(7), b, d);
        join_lanes(4, to, to + 2);
        join_lanes(6, to + 1, to + 3);
    }

    void join_lanes(int from, int low, int high) {
        vinserti128(Ymm(low), Ymm(from), Xmm(from + 1), 1);
        vperm2i128(Ymm(high), Ymm(from), Ymm(from + 1), 0x31);
    }

    void end_group() override {
        push(rbp);
        for (int half = 0; half < halves; ++half)
            for (int part = 0; part < 2; ++part)
                end_group(half, part);
        pop(rbp);
    }
    void end_group(int half, int part) {
        constexpr int of_weights = 12;
        if (has_src_zps()) load_in_order(half, part, rows_, of_weights);
        const int of_part = vectors() / 2, of_lane = of_part / 2;
        for_rows([&](int r) {
            load_in_order(half, part, r, 0);
            for (int v = 0; v < of_part; ++v) {
                const int lane = v / of_lane;
                const int place = half * vectors() + lane * of_part
                                  + part * of_lane + v % of_lane;
                scale(Ymm(v), Ymm(of_weights + v), Ymm(4), vmm_bytes(place));
            }
        });
    }

    // The mask has a register if the sums leave one.
    bool has_mask() const { return sets() * short_sums < most_sums; }

    const Ymm mask_of_few_ {most_sums - 1}, low_ {12}, high_ {13}, a_ {14},
            x_ {15};
    jit_next_rows_t next_chunk_ {
            *this, r9, rbp, rdi + offsetof(args_t, next_chunk)};
};

} // namespace

result_t make_jit_integer_n_lanes_avx2(const integer_stream_weights_t &weights,
        int rows, jit_integer_n_lanes_t &code) {
    return make_jit_as<generator_t>(
            code, "jit_integer_n_lanes_avx2", weights, isa_avx2, rows);
}

} // namespace dnnl_dequant
