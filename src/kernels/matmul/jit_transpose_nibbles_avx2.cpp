// 32 rows at a time, and of these the even columns, then the odd ones. Two
// rows' nibbles of a column become a byte, which makes 16 vectors of bytes;
// four rounds of unpacking transpose the 16 x 16 bytes in each half of them, as
// in jit_transpose_nibbles.cpp. Every other vector goes three rounds, waits in
// memory for the others, and the last round brings them together: so registers
// are enough.
//
// Registers: those of jit_transpose_rows_t; rdi the arguments; rdx the
// transposed tile; rcx steps to go; r13 how far ahead weights are asked for,
// r14 a row there. A round's vectors are the first eight or the last, in turns.

#include "kernels/matmul/jit_transpose_nibbles_avx2.hpp"

#include <cstddef>

#include "kernels/matmul/jit_transpose_rows.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int half = 8, rounds_apart = 3;
constexpr uint32_t vector_bytes = 32;
// Of vectors that wait, and of rows.
constexpr uint32_t room = (half + transpose_avx2_step) * vector_bytes;

class generator_t : public jit_transpose_rows_t {
public:
    using args_t = jit_transpose_nibbles_avx2_args_t;

    generator_t()
        : jit_transpose_rows_t("jit_transpose_nibbles_avx2") {}

private:
    Address arg(size_t offset) { return qword[rdi + offset]; }
    // Where those that wait are.
    Address waiting(int v) {
        return ptr[rsp + static_cast<uint32_t>(v) * vector_bytes];
    }

    void generate() override {
        preamble();
        mov(rax, arg(offsetof(args_t, from)));
        mov(rsi, arg(offsetof(args_t, pitch)));
        mov(rdx, arg(offsetof(args_t, to)));
        mov(rcx, arg(offsetof(args_t, steps)));
        mov(r13, arg(offsetof(args_t, ahead)));
        multiply_pitch();
        sub(rsp, room);
        Label l_step;
        L(l_step);
        point_to_rows();
        copy_rows();
        ask_ahead();
        for (const bool odd : {false, true}) {
            three_rounds(false, odd);
            for (int v = 0; v < half; ++v)
                vmovups(waiting(v), Ymm(half + v));
            three_rounds(true, odd);
            last_round(odd);
        }
        go_on();
        add(rdx, static_cast<uint32_t>(transpose_avx2_step / 2));
        dec(rcx);
        jnz(l_step, T_NEAR);
        add(rsp, room);
        postamble();
    }

    // Both halves of nibbles are taken from here: rows half a page apart meet
    // in two sets of the first cache.
    void copy_rows() {
        for (int r = 0; r < transpose_avx2_step; ++r) {
            vmovups(Ymm(r % half), row(r));
            vmovups(copied(r), Ymm(r % half));
        }
    }
    Address copied(int r) {
        return ptr[rsp + static_cast<uint32_t>(half + r) * vector_bytes];
    }

    void ask_ahead() {
        lea(r14, ptr[rax + r13]);
        for (int r = 0; r < transpose_avx2_step; ++r) {
            prefetcht1(ptr[r14]);
            add(r14, rsi);
        }
    }

    void three_rounds(bool second, bool odd) {
        for (int v = 0; v < half; ++v)
            pair_rows(Ymm(v), 4 * v + 2 * second, odd);
        for (int i = 0; i < rounds_apart; ++i)
            unpack<Ymm>(i % 2 * half, half);
    }

    // Every other column's nibbles: the first row's low in a byte, the second
    // one's high.
    void pair_rows(const Ymm &v, int first, bool odd) {
        const Ymm other(half), low(half + 1);
        vmovups(low, constant(0x0f0f0f0fu));
        vmovdqu(other, copied(odd ? first : first + 1));
        if (odd) {
            vpsrlw(other, other, 4);
            vpand(other, other, low);
            vpandn(v, low, copied(first + 1));
        } else {
            vpsllw(other, other, 4);
            vpandn(other, low, other);
            vpand(v, low, copied(first));
        }
        vpor(v, v, other);
    }

    void last_round(bool odd) {
        for (int v = 0; v < half; ++v) {
            const Ymm first(0), low(1), high(2);
            vmovups(first, waiting(v));
            vpunpcklbw(low, first, Ymm(half + v));
            vpunpckhbw(high, first, Ymm(half + v));
            store(low, 4 * v + odd);
            store(high, 4 * v + 2 + odd);
        }
    }

    // A column, and the one half a tile further.
    void store(const Ymm &v, int col) {
        const auto at = [&](dim_t c) {
            return ptr[rdx + static_cast<uint32_t>(c * transpose_avx2_pitch)];
        };
        vmovups(at(col), Xmm(v.getIdx()));
        vextracti128(at(col + transpose_avx2_cols / 2), v, 1);
    }
};

} // namespace

result_t make_jit_transpose_nibbles_avx2(
        jit_transpose_nibbles_avx2_t &transpose) {
    return make_jit_as<generator_t>(transpose);
}

} // namespace dnnl_dequant
