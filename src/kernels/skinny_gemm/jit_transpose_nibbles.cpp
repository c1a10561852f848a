// Transposes tiles of weights.
//
// AVX-512 transposes words or dwords, whatever nibbles they have.
//
// AVX2 transposes [K,N] nibbles to [N,K]. A step is 32 rows, first their even
// columns, then the odd ones. Two rows' nibbles of a column become a byte,
// which makes 16 vectors of bytes. Four rounds of unpacking transpose 16 x 16
// bytes in each 128-bit lane. A lane then is 32 rows of one column. Every other
// vector goes through three rounds. These wait in memory for the others, and
// the last round combines them.

#include "kernels/skinny_gemm/jit_transpose_nibbles.hpp"

#include <cstddef>

#include "kernels/jit/simd.hpp"
#include "kernels/jit/transpose_dwords.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int rows_at_once = 32;

// The base of both generators: the 32 rows are four pointers and multiples of
// the pitch, and the rounds are the same.
template <isa_t isa>
class transposer_t : public jit_simd_t {
protected:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr int vectors = jit_isa_t<isa>::vmm_count / 2;

    using jit_simd_t::jit_simd_t;

    const Reg64 rows_[4] = {general_.take("rows 0 to 7", rax),
            general_.take("rows 8 to 15", rbx),
            general_.take("rows 16 to 23", rbp),
            general_.take("rows 24 to 31", r12)};
    const Reg64 pitch_ = general_.take("pitch", rsi),
                pitch_3_ = general_.take("3 pitches", r8),
                pitch_5_ = general_.take("5 pitches", r9),
                pitch_7_ = general_.take("7 pitches", r10),
                to_ = general_.take("transposed tile", rdx),
                steps_ = general_.take("steps to go", rcx);

    // The rounds alternate between these vectors.
    vector_registers_t<isa> vectors_;
    const vmm_range_t<vmm_t> round_[2] = {vectors_.take("even rounds", vectors),
            vectors_.take("odd rounds", vectors)};

    template <typename args_t>
    void load_arguments() {
        mov(rows_[0], arg(offsetof(args_t, from)));
        mov(pitch_, arg(offsetof(args_t, pitch)));
        mov(to_, arg(offsetof(args_t, to)));
    }
    void multiply_pitch() {
        lea(pitch_3_, ptr[pitch_ + pitch_ * 2]);
        lea(pitch_5_, ptr[pitch_ + pitch_ * 4]);
        lea(pitch_7_, ptr[pitch_3_ + pitch_ * 4]);
    }
    void point_to_rows() {
        for (int i = 1; i < 4; ++i)
            lea(rows_[i], ptr[rows_[i - 1] + pitch_ * 8]);
    }
    // Advances to the next step's rows, and to its place in the tile.
    void next_rows(dim_t bytes) {
        lea(rows_[0], ptr[rows_[3] + pitch_ * 8]);
        add(to_, disp(bytes));
    }

    Address row(int r) const {
        const RegExp base(rows_[r / 8]);
        const RegExp rows[] = {base, base + pitch_, base + pitch_ * 2,
                base + pitch_3_, base + pitch_ * 4, base + pitch_5_,
                base + pitch_3_ * 2, base + pitch_7_};
        return ptr[rows[r % 8]];
    }

    // A round moves the highest bit of a vector's index to the lowest bit of
    // the byte's index. The highest bit of the byte's index becomes the
    // vector's lowest.
    void unpack(int rounds) {
        for (int i = 0; i < rounds; ++i) {
            const auto &from = round_[i % 2], &to = round_[1 - i % 2];
            for (int v = 0; v < vectors / 2; ++v) {
                const vmm_t a = from[v], b = from[vectors / 2 + v];
                vpunpcklbw(to[2 * v], a, b);
                vpunpckhbw(to[2 * v + 1], a, b);
            }
        }
    }
};

// The words of two rows are interleaved, the lower four and the upper four of
// each 128-bit lane apart, and transposed as dwords. The upper ones wait in the
// tile. So each row is read once: rows that are half a page apart share two
// sets of L1.
class words_transposer_t : public transposer_t<isa_avx512_core> {
public:
    words_transposer_t()
        : transposer_t("jit_transpose_words") {}

private:
    static constexpr int pairs = rows_at_once / 2, vector_bytes = 64;
    static constexpr dim_t word_bytes = transposed_rows * 2;

    void generate() override {
        const Reg32 steps = steps_.cvt32();
        preamble();
        load_arguments<jit_transpose_words_args_t>();
        multiply_pitch();
        mov(steps, static_cast<uint32_t>(transposed_rows / rows_at_once));
        repeat(steps, [this] {
            point_to_rows();
            for (int i = 0; i < pairs; ++i) {
                const Zmm first(2 * pairs - 1), upper(2 * pairs - 2);
                vmovdqu32(first, row(2 * i));
                const Zmm second(2 * pairs - 3);
                vmovdqu32(second, row(2 * i + 1));
                vpunpckhwd(upper, first, second);
                vpunpcklwd(Zmm(i), first, second);
                vmovups(word(i, true), upper);
            }
            transpose_pairs(false);
            for (int i = 0; i < pairs; ++i)
                vmovups(Zmm(i), word(i, true));
            transpose_pairs(true);
            next_rows(vector_bytes);
        });
        postamble();
    }

    // The word of a line that becomes dword i, of those interleaved together.
    Address word(int i, bool upper) const {
        return ptr[to_ + disp((8 * (i / 4) + 4 * upper + i % 4) * word_bytes)];
    }

    void transpose_pairs(bool upper) {
        transpose_dwords(*this);
        for (int i = 0; i < pairs; ++i)
            vmovups(word(i, upper), Zmm(i));
    }
};

class dwords_transposer_t : public transposer_t<isa_avx512_core> {
public:
    dwords_transposer_t()
        : transposer_t("jit_transpose_dwords") {}

private:
    static constexpr int columns = jit_isa_t<isa_avx512_core>::simd_w;
    static constexpr dim_t vector_bytes = 64;

    void generate() override {
        using args_t = jit_transpose_dwords_args_t;
        const Opmask k_exist = k1;
        preamble();
        load_arguments<args_t>();
        multiply_pitch();
        mov(steps_, arg(offsetof(args_t, mask)));
        kmovw(k_exist, steps_.cvt32());
        mov(steps_, arg(offsetof(args_t, vectors)));
        repeat(steps_, [&] {
            lea(rows_[1], ptr[rows_[0] + pitch_ * 8]);
            for (int c = 0; c < columns; ++c)
                vmovdqu32(Zmm(c) | k_exist | T_z, row(c));
            transpose_dwords(*this);
            for (int i = 0; i < columns; ++i)
                vmovups(ptr[to_ + disp(i * transposed_dwords_bytes)], Zmm(i));
            lea(rows_[0], ptr[rows_[1] + pitch_ * 8]);
            add(to_, disp(vector_bytes));
        });
        postamble();
    }
};

class avx2_transposer_t : public transposer_t<isa_avx2> {
public:
    using args_t = jit_transpose_nibbles_avx2_args_t;

    avx2_transposer_t()
        : transposer_t("jit_transpose_nibbles_avx2") {}

private:
    static constexpr int rounds_apart = 3, vector_bytes = 32;
    // Vectors on the stack: those that wait, and copies of rows.
    static constexpr int room = vectors + rows_at_once;

    const Reg64 ahead_ = general_.take("prefetch distance", r13),
                ahead_row_ = general_.take("a prefetched row", r14);

    Address waiting(int v) { return ptr[rsp + disp(v * vector_bytes)]; }
    Address copied(int r) { return waiting(vectors + r); }

    void generate() override {
        preamble();
        load_arguments<args_t>();
        mov(steps_, arg(offsetof(args_t, steps)));
        mov(ahead_, arg(offsetof(args_t, ahead)));
        multiply_pitch();
        sub(rsp, room * vector_bytes);
        repeat(steps_, [this] {
            point_to_rows();
            copy_rows();
            prefetch_rows();
            for (const bool odd : {false, true}) {
                three_rounds(0, odd);
                for (int v = 0; v < vectors; ++v)
                    vmovups(waiting(v), round_[1][v]);
                three_rounds(1, odd);
                last_round(odd);
            }
            next_rows(transpose_avx2_step / 2);
        });
        add(rsp, room * vector_bytes);
        postamble();
    }

    // The even and the odd columns are read from a copy, since rows that are
    // half a page apart share two sets of L1.
    void copy_rows() {
        for (int r = 0; r < rows_at_once; ++r) {
            const Ymm v = round_[0][r % vectors];
            vmovups(v, row(r));
            vmovups(copied(r), v);
        }
    }

    void prefetch_rows() {
        lea(ahead_row_, ptr[rows_[0] + ahead_]);
        for (int r = 0; r < rows_at_once; ++r) {
            prefetch_early(ptr[ahead_row_]);
            add(ahead_row_, pitch_);
        }
    }

    // Takes every other vector, from the first or the second on.
    void three_rounds(int second, bool odd) {
        for (int v = 0; v < vectors; ++v)
            pair_rows(round_[0][v], 2 * (2 * v + second), odd);
        unpack(rounds_apart);
    }

    void pair_rows(const Ymm &v, int first, bool odd) {
        const Ymm other = round_[1][0], low = round_[1][1];
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

    void last_round(int odd) {
        const Ymm first = round_[0][0], low = round_[0][1], high = round_[0][2];
        for (int v = 0; v < vectors; ++v) {
            vmovups(first, waiting(v));
            vpunpcklbw(low, first, round_[1][v]);
            vpunpckhbw(high, first, round_[1][v]);
            store(low, 4 * v + odd);
            store(high, 4 * v + 2 + odd);
        }
    }

    // Stores a column, and the one half a tile further.
    void store(const Ymm &v, int col) {
        const auto at = [&](dim_t c) {
            return ptr[to_ + disp(c * transpose_avx2_pitch)];
        };
        vmovups(at(col), Xmm(v.getIdx()));
        vextracti128(at(col + transpose_avx2_cols / 2), v, 1);
    }
};

} // namespace

result_t make_jit_transpose_words(jit_transpose_words_t &transpose) {
    return make_jit_as<words_transposer_t>(transpose);
}

result_t make_jit_transpose_dwords(jit_transpose_dwords_t &transpose) {
    return make_jit_as<dwords_transposer_t>(transpose);
}

result_t make_jit_transpose_nibbles_avx2(
        jit_transpose_nibbles_avx2_t &transpose) {
    return make_jit_as<avx2_transposer_t>(transpose);
}

} // namespace dnnl_dequant
