// A few rows times a few columns of weights of 4 or 8 bits, whose elements lie
// one after the other along the depth, on AVX2.
//
// A nibble that the graph rounds is looked up in a table of the 16 numbers it
// may stand for, a byte of them at a time: what is looked up in the table of
// the highest bytes and in that of the next, side by side, is the upper half of
// an f32. The lower half is zero where weights are rounded to bf16; for others
// there are tables of the lower bytes, too. A vector of weights costs two
// shuffles, and one or two more operations.
// One that nobody rounds is made a number as in jit_gemv_avx2_code.cpp, and it
// is a piece's sums that are scaled.
// Two sums take turns, which are added up after each piece; sums of pieces are
// in memory, eight parts each.
//
// Registers: those of jit_dot_avx2_frame_t.

#include "kernels/matmul/jit_dot_avx2_code.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/matmul/jit_dot_avx2_frame.hpp"
#include "kernels/matmul/nibble_lookup.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int most_unroll = 4;

class generator_t : public jit_dot_avx2_frame_t {
public:
    using args_t = jit_dot_avx2_args_t;

    generator_t(const gemv_weights_t &weights, int rows)
        : jit_dot_avx2_frame_t(weights, rows)
        , lanes_(*this, jit_isa_t<isa_avx2>::vmm_count, data_type_t::undef) {}

private:
    void generate() override {
        preamble();
        if (is_nibble() && !looks_up()) load_kept();
        Label l_columns;
        L(l_columns);
        load_arguments();
        all_pieces();
        next_columns();
        dec(arg(offsetof(args_t, turns)));
        jnz(l_columns, T_NEAR);
        postamble();
    }

    void load_arguments() {
        mov(rax, arg(offsetof(args_t, weights)));
        if (cols_ > 1) {
            mov(rcx, arg(offsetof(args_t, weights_pitch)));
            add(rcx, rax);
        }
        mov(r8, arg(offsetof(args_t, a_pitch)));
        mov(rsi, arg(offsetof(args_t, a)));
        for (int r = 1; r < rows_; ++r)
            lea(row_of_a(r), ptr[row_of_a(r - 1) + r8]);
        mov(rdx, arg(offsetof(args_t, sums)));
        mov(r8, arg(offsetof(args_t, sums_pitch)));
        lea(rbp, ptr[r8 + r8 * 2]);
        mov(r11, arg(offsetof(args_t, scales)));
        mov(r12, arg(offsetof(args_t, zps)));
        mov(r13, arg(offsetof(args_t, ahead)));
    }

    void next_columns() {
        mov(rax, arg(offsetof(args_t, weights_pitch)));
        for (int c = 0; c < cols_; ++c)
            add(arg(offsetof(args_t, weights)), rax);
        add(arg(offsetof(args_t, scales)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, zps)), parameter_bytes(cols_));
        add(arg(offsetof(args_t, sums)),
                static_cast<uint32_t>(cols_) * vector_bytes);
    }

    void all_pieces() {
        Label l_pieces, l_rest, l_end;
        mov(r15, arg(offsetof(args_t, pieces)));
        test(r15, r15);
        jz(l_rest, T_NEAR);
        L(l_pieces);
        piece(shape_.piece);
        dec(r15);
        jnz(l_pieces, T_NEAR);
        L(l_rest);
        cmp(arg(offsetof(args_t, has_rest)), 0);
        je(l_end, T_NEAR);
        if (shape_.rest != 0) piece(shape_.rest);
        L(l_end);
    }

    void piece(dim_t depth) {
        for (int i = 0; i < rows_ * cols_ * sums_in_turn; ++i)
            vxorps(Ymm(i), Ymm(i), Ymm(i));
        for (int c = 0; c < cols_; ++c) {
            if (looks_up()) make_table(c);
            else if (is_nibble()) load_zps(c);
            else load_parameters(c);
        }
        const dim_t steps = depth / shape_.step;
        const int unroll = steps % most_unroll == 0 ? most_unroll
                           : steps % 2 == 0         ? 2
                                                    : 1;
        if (steps > 0) {
            Label l_steps;
            mov(r14d, static_cast<uint32_t>(steps / unroll));
            align(32);
            L(l_steps);
            for (at_ = 0; at_ < unroll; ++at_)
                for (int c = 0; c < cols_; ++c)
                    step(c, 0);
            at_ = 0;
            go_on(unroll);
            dec(r14);
            jnz(l_steps, T_NEAR);
        }
        for (int c = 0; c < cols_ && depth % shape_.step != 0; ++c) {
            mov(weights(c),
                    arg(offsetof(args_t, tails) + static_cast<size_t>(c) * 8));
            step(c, static_cast<int>(depth % shape_.step));
        }
        end_piece();
    }

    void go_on(int steps) {
        const uint32_t bytes = step_bytes() * static_cast<uint32_t>(steps);
        for (int c = 0; c < cols_; ++c) {
            prefetcht0(ptr[weights(c) + r13]);
            add(weights(c), bytes);
        }
        for (int r = 0; r < rows_; ++r)
            add(row_of_a(r), static_cast<uint32_t>(steps * shape_.step * 4));
    }

    void load_parameters(int c) {
        if (has_zps()) vbroadcastss(zp(c), of(r12, c));
        if (!shape_.scales_sums) vbroadcastss(scale(c), of(r11, c));
    }

    // As much more as the numbers are.
    void load_zps(int c) {
        const float sign = is_signed() ? 8 : 0;
        const float more[] = {0x1p23f + sign, 0x1p15f + sign};
        for (int i = 0; i < 2; ++i) {
            uint32_t bits;
            std::memcpy(&bits, &more[i], sizeof(bits));
            vmovups(table(c, i), constant(bits));
        }
        if (!has_zps()) return;
        vbroadcastss(scratch_, of(r12, c));
        for (int i = 0; i < 2; ++i)
            vaddps(table(c, i), table(c, i), scratch_);
    }

    // Of sixteen numbers those of one byte are put side by side, in both lanes.
    void make_table(int c) {
        const Ymm vectors[] = {index_, weight_};
        for (int i = 0; i < 2; ++i) {
            const Ymm v = vectors[i];
            vmovups(v, constant(numbers_of_table(i)));
            if (has_zps()) {
                vbroadcastss(scratch_, of(r12, c));
                vsubps(v, v, scratch_);
            }
            if (!shape_.scales_sums) {
                vbroadcastss(scratch_, of(r11, c));
                vmulps(v, v, scratch_);
            }
            lanes_.round(v, w_.rounded, weights_rounding(w_), scratch_);
            vpshufb(v, v, constant(bytes_apart()));
        }
        constexpr uint8_t even = 0x88, odd = 0xdd;
        vpunpckhdq(scratch_, index_, weight_);
        vpermq(table(c, 0), scratch_, even);
        vpermq(table(c, 1), scratch_, odd);
        if (shape_.planes == 2) return;
        vpunpckldq(scratch_, index_, weight_);
        vpermq(table(c, 2), scratch_, even);
        vpermq(table(c, 3), scratch_, odd);
    }

    // 0 to 3 and 8 to 11, or 4 to 7 and 12 to 15: unpacking puts them in order.
    lanes_t numbers_of_table(int i) const {
        const lanes_t all = nibble_numbers(w_.type);
        lanes_t some {};
        for (size_t n = 0; n < simd_w; ++n)
            some[n] = all[n % 4 + n / 4 * 8 + static_cast<size_t>(i) * 4];
        return some;
    }

    static lanes_t bytes_apart() {
        lanes_t lanes;
        for (uint32_t i = 0; i < lanes.size(); ++i)
            lanes[i] = 0x0c080400u + i % 4 * 0x01010101u;
        return lanes;
    }

    int vectors() const { return static_cast<int>(shape_.step) / simd_w; }
    uint32_t step_bytes() const {
        return static_cast<uint32_t>(bytes_of(w_.type, shape_.step));
    }
    Address next_weights(int c, int bytes = 0) {
        return ptr[weights(c) + step_bytes() * static_cast<uint32_t>(at_)
                   + static_cast<uint32_t>(bytes)];
    }

    // `tail` elements, or all where that is 0.
    void step(int c, int tail) {
        if (is_nibble() && !looks_up()) return all_numbers(c);
        if (looks_up()) look_up(c, tail);
        for (int v = 0; v < vectors(); ++v) {
            if (is_nibble()) take_number(v);
            else load_byte(c, v, tail);
            multiply(weight_, c, v);
        }
    }

    void multiply(const Ymm &number, int c, int v) {
        for (int r = 0; r < rows_; ++r)
            vfmadd231ps(sum(r, c, v % sums_in_turn), number,
                    ptr[row_of_a(r)
                            + static_cast<uint32_t>(at_ * vectors() + v)
                                      * vector_bytes]);
    }

    // What is beyond a tail meets zeros of src.
    void all_numbers(int c) {
        vbroadcasti128(index_, next_weights(c));
        if (is_signed()) vpxor(index_, index_, constant(0x88888888u));
        with(shifts, [&](const auto &by) { vpsrlvd(index_, index_, by); });
        for (int i = 0; i < 2; ++i) {
            with(masks + i,
                    [&](const auto &mask) { vpand(scratch_, index_, mask); });
            with(upper_halves + i, [&](const auto &half) {
                vpunpcklwd(weight_, scratch_, half);
                vpunpckhwd(scratch_, scratch_, half);
            });
            vsubps(weight_, weight_, table(c, i));
            multiply(weight_, c, i);
            vsubps(scratch_, scratch_, table(c, i));
            multiply(scratch_, c, 2 + i);
        }
    }

    void look_up(int c, int tail) {
        vbroadcasti128(index_, next_weights(c));
        vpsrlvd(index_, index_, constant(lanes_of(shifts)));
        vpand(index_, index_, constant(0x0f0f0f0fu));
        if (tail != 0) vpor(index_, index_, constant(beyond(tail)));
        unpack(table(c, 0), table(c, 1), upper(0), upper(1));
        if (shape_.planes > 2)
            unpack(table(c, 2), table(c, 3), lower(0), lower(1));
    }

    // An index whose highest bit is set gets a zero.
    static lanes_t beyond(int tail) {
        lanes_t lanes {};
        for (int i = 0; i < 32; ++i) {
            const int element = i % 16 * 2 + i / 16;
            if (element >= tail)
                lanes[static_cast<size_t>(i / 4)] |= 0x80u << (i % 4 * 8);
        }
        return lanes;
    }

    void unpack(const Ymm &low_bytes, const Ymm &high_bytes, const Ymm &first,
            const Ymm &second) {
        vpshufb(weight_, low_bytes, index_);
        vpshufb(scratch_, high_bytes, index_);
        vpunpcklbw(first, weight_, scratch_);
        vpunpckhbw(second, weight_, scratch_);
    }

    // Of each lane's two halves of numbers the lower or the upper.
    void take_number(int v) {
        const bool has_lower = shape_.planes > 2;
        constexpr uint8_t even = 0x55, odd = 0xaa;
        if (v % 2 == 0) {
            vpslld(weight_, upper(v / 2), 16);
            if (has_lower) vpblendw(weight_, weight_, lower(v / 2), even);
        } else if (has_lower) {
            vpsrld(weight_, lower(v / 2), 16);
            vpblendw(weight_, weight_, upper(v / 2), odd);
        } else {
            vpand(weight_, upper(v / 2), constant(0xffff0000u));
        }
    }

    void load_byte(int c, int v, int tail) {
        const Address at = next_weights(c, v * simd_w);
        if (is_signed()) vpmovsxbd(weight_, at);
        else vpmovzxbd(weight_, at);
        vcvtdq2ps(weight_, weight_);
        if (has_zps()) vsubps(weight_, weight_, zp(c));
        if (!shape_.scales_sums) {
            vmulps(weight_, weight_, scale(c));
            lanes_.round(weight_, w_.rounded, weights_rounding(w_), scratch_);
        }
        if (tail == 0) return;
        lanes_t within {};
        for (int i = 0; i < std::min(tail - v * simd_w, simd_w); ++i)
            within[static_cast<size_t>(i)] = ~0u;
        vandps(weight_, weight_, constant(within));
    }

    void end_piece() {
        for (int c = 0; c < cols_; ++c) {
            if (shape_.scales_sums) vbroadcastss(scratch_, of(r11, c));
            for (int r = 0; r < rows_; ++r) {
                const Ymm s = sum(r, c, 0);
                const Address at = ptr[sums(r, c)];
                vaddps(s, s, sum(r, c, 1));
                if (shape_.scales_sums) vfmadd213ps(s, scratch_, at);
                else vaddps(s, s, at);
                vmovups(at, s);
            }
        }
        add(r11, arg(offsetof(args_t, parameters_pitch)));
        add(r12, arg(offsetof(args_t, parameters_pitch)));
    }

    int at_ = 0; // of steps that are done without a branch between
    jit_lanes_t<isa_avx2> lanes_;
};

} // namespace

result_t make_jit_dot_avx2_code(
        const gemv_weights_t &weights, int rows, jit_dot_avx2_code_t &code) {
    return make_jit_as<generator_t>(code, weights, rows);
}

} // namespace dnnl_dequant
