// A skinny integer GEMM by [K,N] weights of 4 or 8 bits on AVX-512 VNNI, N
// lanes. Two rounds of unpacking turn four rows of 64 bytes of weights into k4
// blocks. Blocks of nibbles are split into those of even columns and of odd
// ones. The sums of a panel stay in registers down a chunk.
//
// Registers besides the base's: r14 panels to go, r9 the prefetch distance. The
// first 24 vectors are sums, the next six what was loaded, then come constants.

#include "kernels/integer_gemm/jit_integer_n_lanes_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class generator_t : public jit_integer_n_lanes_base_t {
public:
    using jit_integer_n_lanes_base_t::jit_integer_n_lanes_base_t;

private:
    Zmm sum(int set, int v) const { return Zmm(set * vectors_ + v); }

    void generate() override {
        preamble();
        load_byte_constants();
        vmovups(ones_, constant(0x01010101u));
        load_arguments();
        mov(r14, arg(offsetof(args_t, panels)));
        mov(r15, arg(offsetof(args_t, c)));
        repeat(r14, [&] {
            // Each row is prefetched some way further along.
            load_ahead(*this, r9, r14, rdi + offsetof(args_t, ahead));
            panel();
        });
        postamble();
    }

    void prefetch_k4() {
        lea(rbp, ptr[rax + r9]);
        for (int r = 0; r < k4_depth; ++r)
            prefetch_stream(ptr[row(rbp, r)]);
    }

    void begin_sums() override {
        Label l_zero, l_end;
        cmp(arg(offsetof(args_t, continues)), 0);
        je(l_zero, T_NEAR);
        for (int i = 0; i < sets() * vectors_; ++i)
            vmovups(Zmm(i), ptr[r8 + vmm_bytes(i)]);
        jmp(l_end, T_NEAR);
        L(l_zero);
        for (int i = 0; i < sets() * vectors_; ++i)
            clear(Zmm(i));
        L(l_end);
    }

    void add_chunk() override {
        mov(rax, rcx);
        load_k4_arguments();
        align(32);
        repeat(r10, [&] {
            add_k4();
            next_k4();
        });
        for (int i = 0; i < sets() * vectors_; ++i)
            vmovups(ptr[r8 + vmm_bytes(i)], Zmm(i));
    }

    // Unpacks pairs of rows, then fours. Dword p of 128-bit lane l in vector i
    // has the column of byte 16 l + 4 i + p, of all four rows.
    void add_k4() {
        const Zmm rows[] = {Zmm(24), Zmm(25), Zmm(26), Zmm(27)};
        const Zmm pairs[] = {Zmm(28), Zmm(29)};
        const Zmm k4_blocks[] = {rows[0], rows[2], pairs[0], rows[1]};
        for (int r = 0; r < k4_depth; ++r)
            vmovdqu32(rows[r], ptr[row(rax, r)]);
        prefetch_k4();
        for (int i = 0; i < 2; ++i) {
            vpunpcklbw(pairs[i], rows[2 * i], rows[2 * i + 1]);
            vpunpckhbw(rows[2 * i + 1], rows[2 * i], rows[2 * i + 1]);
        }
        vpunpcklwd(k4_blocks[0], pairs[0], pairs[1]);
        vpunpckhwd(k4_blocks[1], pairs[0], pairs[1]);
        vpunpcklwd(k4_blocks[2], rows[1], rows[3]);
        vpunpckhwd(k4_blocks[3], rows[1], rows[3]);
        for (int i = 0; i < k4_depth; ++i)
            add_k4_blocks(i, k4_blocks[i]);
    }

    void add_k4_blocks(int i, const Zmm &low) {
        const Zmm high(29), a(27);
        make_bytes(low, high);
        const int parts = is_nibble() ? 2 : 1;
        for (int r = 0; r < rows_; ++r) {
            if (rows_ > 1 || i == 0) vpbroadcastd(a, ptr[row_of_a(r)]);
            for (int part = 0; part < parts; ++part)
                dot(sum(r, i * parts + part), part == 0 ? low : high, a);
        }
        if (!has_src_zps()) return;
        for (int part = 0; part < parts; ++part) {
            const Zmm &of_weights = sum(rows_, i * parts + part);
            // A byte of a nibble is 0 to 15, the same number with a sign and
            // without.
            if (is_nibble())
                vpdpbusd(of_weights, part == 0 ? low : high,
                        constant(0x01010101u));
            else dot(of_weights, low, ones_);
        }
    }

    // Loads a set's sums in the order of columns, into eight or four vectors.
    void load_in_order(int set, int to) {
        constexpr int loaded = 8;
        for (int v = 0; v < vectors_; ++v)
            vmovups(Zmm(loaded + v), ptr[r8 + vmm_bytes(set * vectors_ + v)]);
        const int parts = vectors_ / 4;
        for (int v = 0; is_nibble() && v < vectors_; v += 2) {
            const Zmm even(loaded + v), odd(loaded + v + 1), low(24);
            vpunpckldq(low, even, odd);
            vpunpckhdq(odd, even, odd);
            vmovdqa32(even, low);
        }
        for (int part = 0; part < parts; ++part)
            transpose_lanes(loaded + 4 * part, to + part, parts);
    }

    // Moves lane i of four vectors to the vector `to` + i * `step`.
    void transpose_lanes(int from, int to, int step) {
        const auto half = [](int i) { return Zmm(24 + i); };
        for (int i = 0; i < 2; ++i) {
            const Zmm a(from + 2 * i), b(from + 2 * i + 1);
            vshufi32x4(half(2 * i), a, b, 0x44);
            vshufi32x4(half(2 * i + 1), a, b, 0xee);
        }
        for (int i = 0; i < 4; ++i)
            vshufi32x4(Zmm(to + i * step), half(i / 2), half(2 + i / 2),
                    i % 2 == 0 ? 0x88 : 0xdd);
    }

    void end_group() override {
        constexpr int of_weights = 16;
        if (has_src_zps()) load_in_order(rows_, of_weights);
        for_rows([&](int r) {
            load_in_order(r, 0);
            for (int v = 0; v < vectors_; ++v)
                scale(Zmm(v), Zmm(of_weights + v), Zmm(24), vmm_bytes(v));
        });
    }

    const int vectors_ = is_nibble() ? 8 : 4; // of a panel's sums
    // Only weights of 8 bits need ones; their sums leave this register free.
    const Zmm ones_ {23};
};

} // namespace

result_t make_jit_integer_n_lanes(const integer_stream_weights_t &weights,
        int rows, jit_integer_n_lanes_t &code) {
    return make_jit_as<generator_t>(
            code, "jit_integer_n_lanes", weights, isa_avx512_core_vnni, rows);
}

} // namespace dnnl_dequant
