// Weights of 4 or 8 bits to quads on AVX2: four bytes of one column, eight
// columns a vector.
//
// Columns side by side: rows are interleaved byte by byte, then two by two, so
// that four of them make quads; of nibbles those of an even column and of the
// odd one after it, which are parted then and put in turns.
// Depth side by side: four dwords of eight columns are transposed at a time; of
// nibbles each has the four even ones of eight in its lower halves.

#include <cstddef>

#include "kernels/matmul/jit_integer_unpack_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int vectors = 8;
constexpr uint32_t quad_bytes = integer_panel * 4, vector_bytes = 32,
                   half_bytes = 16;

// The step from stored bits to integers, and the constants of it.
class base_t : public jit_integer_unpack_base_t {
protected:
    using jit_integer_unpack_base_t::jit_integer_unpack_base_t;

    bool sums() const { return format_.has_src_zps; }
    Address byte_ones() { return constant(0x01010101); }
    Address word_ones() { return constant(0x00010001); }

    // The lower nibble of each byte stays in `low`.
    void split(const Ymm &low, const Ymm &high) {
        vpsrlw(high, low, 4);
        vpand(low, low, constant(0x0f0f0f0f));
        vpand(high, high, constant(0x0f0f0f0f));
    }

    void flip(const Ymm &x) {
        const uint32_t bits = flipped_bits(format_) * 0x01010101u;
        if (bits != 0) vpxor(x, x, constant(bits));
    }
};

// Registers beside the base's: r11 quads to go in this round; r10 sums. The
// first eight vectors are sums, of bytes or of 16 bits.
class rows_generator_t : public base_t {
public:
    explicit rows_generator_t(const integer_format_t &format)
        : base_t("jit_integer_rows_avx2", format) {}

private:
    using args_t = jit_integer_rows_args_t;
    // Whose nibbles' sums fit a byte, and whose bytes' 16 bits.
    static constexpr uint32_t round_quads = 16;
    Ymm sum(int v) const { return Ymm(v); }
    Ymm other(int i) const { return Ymm(vectors + i); }

    void generate() override {
        preamble();
        load_rows();
        Label l_round, l_quad;
        L(l_round);
        mov(r11, round_quads);
        cmp(r8, r11);
        cmovb(r11, r8);
        sub(r8, r11);
        for (int v = 0; sums() && v < vectors; ++v)
            vpxor(sum(v), sum(v), sum(v));
        align(32);
        L(l_quad);
        quad();
        lea(rax, ptr[rax + rsi * 4]);
        add(rcx, quad_bytes);
        dec(r11);
        jnz(l_quad, T_NEAR);
        if (sums()) add_sums();
        test(r8, r8);
        jnz(l_round, T_NEAR);
        postamble();
    }

    void quad() {
        ask_for_rows();
        if (is_nibble()) {
            pair_rows(0);
            for (int half = 0; half < 2; ++half)
                quads_of_nibbles(half);
            return;
        }
        for (int part = 0; part < 2; ++part) {
            pair_rows(static_cast<uint32_t>(part) * vector_bytes);
            for (int half = 0; half < 2; ++half)
                quads_of_bytes(part, half);
        }
    }

    // Of 32 bytes a row: the rows 0 and 1 in turns, the lower halves of both
    // lanes in other(0) and the upper in other(1); 2 and 3 in the next two.
    void pair_rows(uint32_t bytes) {
        for (int pair = 0; pair < 2; ++pair) {
            const Ymm low = other(2 * pair), high = other(2 * pair + 1),
                      second = other(4);
            vmovdqu(high, ptr[row(2 * pair) + bytes]);
            vmovdqu(second, ptr[row(2 * pair + 1) + bytes]);
            flip(high);
            flip(second);
            vpunpcklbw(low, high, second);
            vpunpckhbw(high, high, second);
        }
    }

    // Quads of both lanes' halves, in two vectors.
    void make_quads(int half) {
        vpunpcklwd(other(4), other(half), other(2 + half));
        vpunpckhwd(other(5), other(half), other(2 + half));
    }

    // A lane has 32 columns: eight a dword and the next.
    void quads_of_nibbles(int half) {
        make_quads(half);
        for (int i = 0; i < 2; ++i) {
            const Ymm low = other(4 + i), high = other(6), first = other(7);
            split(low, high);
            vpunpckldq(first, low, high);
            vpunpckhdq(low, low, high);
            store_lanes(2 * half + i, vectors / 2, first, low);
        }
    }

    // A lane has sixteen columns.
    void quads_of_bytes(int part, int half) {
        make_quads(half);
        store_lanes(4 * part + half, 2, other(4), other(5));
    }

    // The lower lanes of both are vector `v` of a quad, the upper ones another.
    void store_lanes(int v, int apart, const Ymm &first, const Ymm &second) {
        constexpr uint8_t lower = 0x20, upper = 0x31;
        const Ymm low = other(6);
        vperm2i128(low, first, second, lower);
        vperm2i128(second, first, second, upper);
        store(v, low);
        store(v + apart, second);
    }

    void store(int v, const Ymm &quads) {
        vmovdqu(ptr[rcx + static_cast<uint32_t>(v) * vector_bytes], quads);
        if (!sums()) return;
        if (is_nibble()) {
            vpaddb(sum(v), sum(v), quads);
            return;
        }
        vpmaddubsw(quads, quads, byte_ones());
        vpaddw(sum(v), sum(v), quads);
    }

    void add_sums() {
        mov(r10, arg(offsetof(args_t, sums)));
        for (int v = 0; v < vectors; ++v) {
            const Address to
                    = ptr[r10 + static_cast<uint32_t>(v) * vector_bytes];
            if (is_nibble()) vpmaddubsw(sum(v), sum(v), byte_ones());
            vpmaddwd(sum(v), sum(v), word_ones());
            vpaddd(sum(v), sum(v), to);
            vmovdqu(to, sum(v));
        }
    }
};

// Registers beside the base's, whose slices become two: rax rbx where four
// columns each are read; rcx quads, rbp the first; r8 bytes to go; r12 r13 r14
// a dword to be made of bytes. The first eight vectors are what was loaded, the
// last the sum.
class columns_generator_t : public base_t {
public:
    explicit columns_generator_t(const integer_format_t &format)
        : base_t("jit_integer_columns_avx2", format) {}

private:
    using args_t = jit_integer_columns_args_t;
    static constexpr int cols = 8, dwords = half_bytes / 4;
    const Ymm sum_ {15};
    Ymm loaded(int i) const { return Ymm(i); }
    Ymm transposed(int i) const { return Ymm(8 + i); }
    Ymm high(int i) const { return Ymm(i); }

    void generate() override {
        preamble();
        load_columns();
        static_assert(args_t::cols == 2 * cols, "");
        add(r10, r10);
        mov(rbp, arg(offsetof(args_t, quads)));
        sub(rsp, vector_bytes);
        Label l_columns;
        L(l_columns);
        columns();
        lea(rsi, ptr[rsi + rdx * cols]);
        add(r11, vector_bytes);
        add(rbp, vector_bytes);
        dec(r10);
        jnz(l_columns, T_NEAR);
        add(rsp, vector_bytes);
        postamble();
    }

    RegExp column_of_eight(int i) const {
        return column(i < 4 ? rax : rbx, i % 4);
    }

    void columns() {
        Label l_half, l_rest, l_dword, l_bytes, l_end;
        mov(rcx, rbp);
        mov(rax, rsi);
        lea(rbx, ptr[rsi + rdx * 4]);
        mov(r8, arg(offsetof(args_t, bytes)));
        if (sums()) vmovdqu(sum_, ptr[r11]);
        sub(r8, half_bytes);
        jl(l_rest, T_NEAR);
        align(32);
        L(l_half);
        transpose();
        store_quads(dwords);
        sub(r8, half_bytes);
        jge(l_half, T_NEAR);
        L(l_rest);
        add(r8, half_bytes - 4);
        jl(l_bytes, T_NEAR);
        L(l_dword);
        gather();
        store_quads(1);
        sub(r8, 4);
        jge(l_dword, T_NEAR);
        L(l_bytes);
        add(r8, 4);
        jz(l_end, T_NEAR);
        gather_bytes();
        store_quads(1);
        L(l_end);
        if (sums()) vmovdqu(ptr[r11], sum_);
    }

    // Vector j then has dword j of every column.
    void transpose() {
        for (int i = 0; i < 4; ++i) {
            vmovdqu(Xmm(i), ptr[column(rax, i)]);
            vinserti128(loaded(i), loaded(i), ptr[column(rbx, i)], 1);
        }
        for (int i = 0; i < 2; ++i) {
            vpunpckldq(loaded(4 + i), loaded(2 * i), loaded(2 * i + 1));
            vpunpckhdq(loaded(6 + i), loaded(2 * i), loaded(2 * i + 1));
        }
        for (int i = 0; i < 2; ++i) {
            const Ymm a = loaded(4 + 2 * i), b = loaded(5 + 2 * i);
            vpunpcklqdq(transposed(2 * i), a, b);
            vpunpckhqdq(transposed(2 * i + 1), a, b);
        }
    }

    // A dword of every column.
    void gather() {
        for (int i = 0; i < cols; ++i) {
            mov(r12d, ptr[column_of_eight(i)]);
            mov(ptr[rsp + static_cast<uint32_t>(i) * 4], r12d);
        }
        vmovdqu(transposed(0), ptr[rsp]);
    }

    // What there is of it, from the last byte back.
    void gather_bytes() {
        for (int i = 0; i < cols; ++i) {
            Label l_byte;
            mov(r12d, flipped_bits(format_) * 0x01010101u);
            mov(r13, r8);
            lea(r14, ptr[column_of_eight(i)]);
            L(l_byte);
            shl(r12d, 8);
            mov(r12b, ptr[r14 + r13 - 1]);
            dec(r13);
            jnz(l_byte);
            mov(ptr[rsp + static_cast<uint32_t>(i) * 4], r12d);
        }
        vmovdqu(transposed(0), ptr[rsp]);
    }

    // And steps on.
    void store_quads(int count) {
        const int parts = is_nibble() ? 2 : 1;
        for (int i = 0; i < count; ++i) {
            const Ymm quads = transposed(i);
            flip(quads);
            const auto at = static_cast<uint32_t>(i * parts) * quad_bytes;
            if (is_nibble()) {
                split(quads, high(i));
                vmovdqu(ptr[rcx + at + quad_bytes], high(i));
            }
            vmovdqu(ptr[rcx + at], quads);
        }
        if (sums()) add_sums(count);
        add(rcx, static_cast<uint32_t>(count * parts) * quad_bytes);
        for (const Reg64 &from : {rax, rbx})
            add(from, static_cast<uint32_t>(count) * 4);
    }

    // Of nibbles as many sums fit bytes, of bytes 16 bits.
    void add_sums(int count) {
        const Ymm all = transposed(0);
        for (int i = 0; i < count; ++i) {
            const Ymm quads = transposed(i);
            if (is_nibble()) vpaddb(quads, quads, high(i));
            else vpmaddubsw(quads, quads, byte_ones());
        }
        for (int i = 1; i < count; ++i) {
            if (is_nibble()) vpaddb(all, all, transposed(i));
            else vpaddw(all, all, transposed(i));
        }
        if (is_nibble()) vpmaddubsw(all, all, byte_ones());
        vpmaddwd(all, all, word_ones());
        vpaddd(sum_, sum_, all);
    }
};

} // namespace

result_t make_jit_integer_unpack_avx2(
        const integer_format_t &format, jit_integer_rows_t &code) {
    return make_jit_as<rows_generator_t>(code, format);
}

result_t make_jit_integer_unpack_avx2(
        const integer_format_t &format, jit_integer_columns_t &code) {
    return make_jit_as<columns_generator_t>(code, format);
}

} // namespace dnnl_dequant
