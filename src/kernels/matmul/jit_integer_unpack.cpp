// Weights of 4 or 8 bits to quads: four bytes of one column, sixteen columns a
// vector.
//
// Columns side by side: sixteen bytes of each of four rows are transposed four
// by four, by one shuffle of dwords and one of bytes. Of nibbles that has even
// columns in its lower halves and odd ones in its upper ones.
// Depth side by side: sixteen dwords of sixteen columns are transposed; of
// nibbles each has the four even ones of eight in its lower halves.

#include <cstddef>

#include "kernels/matmul/jit_integer_unpack_code.hpp"
#include "kernels/matmul/jit_transpose_dwords.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int vectors = 4;
constexpr uint32_t line = 64, quad_bytes = integer_panel * 4;

// Bytes of so many vectors.
constexpr size_t bytes(int count) {
    return static_cast<size_t>(count) * line;
}

// The step from stored bits to integers, and the constants of it.
class base_t : public jit_integer_unpack_base_t {
protected:
    using jit_integer_unpack_base_t::jit_integer_unpack_base_t;

    bool splits() const { return is_nibble() && !format_.is_packed; }
    bool sums() const { return format_.has_src_zps && !format_.is_packed; }
    const Zmm ones_ {31}, mask_ {30}, flipped_ {29};

    void load_constants() {
        const uint32_t bits = flipped_bits(format_) * 0x01010101u;
        vmovups(ones_, constant(0x01010101));
        vmovups(mask_, constant(0x0f0f0f0f));
        vmovups(flipped_, constant(splits() ? bits & 0x0f0f0f0f : bits));
    }

    // The lower nibble of each byte stays in `low`.
    void split(const Zmm &low, const Zmm &high) {
        constexpr uint8_t masked_and_flipped = 0x6a; // (low & mask) ^ flipped
        vpsrld(high, low, 4);
        vpternlogd(low, mask_, flipped_, masked_and_flipped);
        vpternlogd(high, mask_, flipped_, masked_and_flipped);
    }

    void flip(const Zmm &x) {
        if (flipped_bits(format_) != 0) vpxord(x, x, flipped_);
    }

    void store(const RegExp &to, const Zmm &quads, const Zmm &sum) {
        vmovups(ptr[to], quads);
        if (sums()) vpdpbusd(sum, quads, ones_);
    }
};

// Registers beside the base's: r10 sums. The first four vectors are sums, the
// next what was loaded.
class rows_generator_t : public base_t {
public:
    explicit rows_generator_t(const integer_format_t &format)
        : base_t("jit_integer_rows", format) {}

private:
    using args_t = jit_integer_rows_args_t;
    const Zmm by_rows_ {28}, bytes_ {27}, first_ {26}, second_ {25};
    Zmm sum(int v) const { return Zmm(v); }
    Zmm loaded(int i) const { return Zmm(4 + i); }

    void generate() override {
        preamble();
        load_constants();
        load_orders();
        load_rows();
        move_sums(true);
        Label l_quad;
        align(32);
        L(l_quad);
        quad();
        lea(rax, ptr[rax + rsi * 4]);
        add(rcx,
                is_nibble() && format_.is_packed ? quad_bytes / 2 : quad_bytes);
        dec(r8);
        jnz(l_quad, T_NEAR);
        move_sums(false);
        postamble();
    }

    void load_orders() {
        lanes_t by_rows, bytes, first, second;
        for (uint32_t i = 0; i < 16; ++i) {
            by_rows[i] = i % 4 * 4 + i / 4;
            bytes[i] = i % 4 * 0x01010101u + 0x0c080400u;
            first[i] = format_.is_packed ? i % 4 * 8 + i / 4
                                         : i / 2 + i % 2 * 16;
            second[i] = first[i] + (format_.is_packed ? 4 : 8);
        }
        vmovups(by_rows_, constant(by_rows));
        vmovups(bytes_, constant(bytes));
        vmovups(first_, constant(first));
        vmovups(second_, constant(second));
    }

    void move_sums(bool loads) {
        mov(r10, arg(offsetof(args_t, sums)));
        for (int v = 0; sums() && v < vectors; ++v) {
            if (loads) vmovups(sum(v), ptr[r10 + bytes(v)]);
            else vmovups(ptr[r10 + bytes(v)], sum(v));
        }
    }

    void quad() {
        if (is_nibble() && format_.is_packed) packed_quad();
        else quad_of_bytes();
    }

    // Half a line of each row, a lane having a dword of every one.
    void packed_quad() {
        const Zmm x = loaded(0), other = loaded(1), next = loaded(2);
        for (int i = 0; i < 2; ++i) {
            const Zmm &pair = i == 0 ? x : other;
            vmovdqu(Ymm(pair.getIdx()), ptr[row(2 * i)]);
            vinserti64x4(pair, pair, ptr[row(2 * i + 1)], 1);
        }
        vmovdqa32(next, x);
        vpermt2d(x, first_, other);
        vpermt2d(next, second_, other);
        for (int i = 0; i < 2; ++i) {
            const Zmm &quads = i == 0 ? x : next;
            vpshufb(quads, quads, bytes_);
            flip(quads);
            vmovups(ptr[rcx + bytes(i)], quads);
        }
    }

    void quad_of_bytes() {
        ask_for_rows();
        const int loads = is_nibble() ? 2 : 4;
        for (int i = 0; i < loads; ++i) {
            const Zmm x = loaded(4 * i), high = loaded(4 * i + 1),
                      next = loaded(4 * i + 2);
            load(x, static_cast<size_t>(i) * 16);
            if (!is_nibble()) {
                flip(x);
                store(rcx + bytes(i), x, sum(i));
                continue;
            }
            split(x, high);
            vmovdqa32(next, x);
            vpermt2d(x, first_, high);
            vpermt2d(next, second_, high);
            store(rcx + bytes(2 * i), x, sum(2 * i));
            store(rcx + bytes(2 * i + 1), next, sum(2 * i + 1));
        }
    }

    // Sixteen bytes of each row, a lane having a dword of every one.
    void load(const Zmm &x, size_t bytes) {
        vmovdqu32(Xmm(x.getIdx()), ptr[row(0) + bytes]);
        for (int r = 1; r < rows_of_quad; ++r)
            vinserti32x4(x, x, ptr[row(r) + bytes], static_cast<uint8_t>(r));
        vpermd(x, by_rows_, x);
        vpshufb(x, x, bytes_);
    }
};

// Registers beside the base's: rax a column; rcx quads; r8 bytes to go; rbx
// what was done of the columns, rbp of a quad. Sixteen vectors and the sixteen
// others take turns.
class columns_generator_t : public base_t {
public:
    explicit columns_generator_t(const integer_format_t &format)
        : base_t("jit_integer_columns", format) {}

private:
    using args_t = jit_integer_columns_args_t;
    static constexpr int count = args_t::cols;
    const Zmm high_ {16};
    // Several, or each addition would wait for the one before.
    static constexpr int chains = 4;
    Zmm sum(int quad) const { return Zmm(17 + quad % chains); }
    // Of a line.
    uint32_t quads_bytes() const {
        return static_cast<uint32_t>(count * (splits() ? 2 : 1)) * quad_bytes;
    }

    void generate() override {
        preamble();
        load_columns();
        xor_(rbp, rbp);
        Label l_slice;
        L(l_slice);
        slice();
        mov(rax, rdx);
        shl(rax, 4);
        add(rsi, rax);
        add(r11, line);
        add(rbp, line);
        dec(r10);
        jnz(l_slice, T_NEAR);
        postamble();
    }

    void slice() {
        Label l_line, l_part, l_end;
        mov(rcx, arg(offsetof(args_t, quads)));
        add(rcx, rbp);
        xor_(rbx, rbx);
        mov(r8, arg(offsetof(args_t, bytes)));
        sub(r8, line);
        jl(l_part, T_NEAR);
        L(l_line);
        columns(true);
        add(rcx, quads_bytes());
        add(rbx, line);
        sub(r8, line);
        jge(l_line, T_NEAR);
        L(l_part);
        add(r8, line);
        jz(l_end, T_NEAR);
        columns(false);
        L(l_end);
    }

    void columns(bool is_whole) {
        if (!is_whole) {
            mov(rax, ~uint64_t(0));
            bzhi(rax, rax, r8);
            kmovq(k1, rax);
        }
        lea(rax, ptr[rsi + rbx]);
        for (int i = 0; i < count; ++i) {
            load(Zmm(i), column(rax, i % 4), is_whole);
            if (i % 4 == 3) lea(rax, ptr[rax + rdx * 4]);
        }
        // Vector j then has dword j of every column.
        transpose_dwords(*this);
        load_constants();
        begin_sums();
        store_quads(is_whole);
        end_sums();
    }

    void load(const Zmm &x, const RegExp &from, bool is_whole) {
        if (is_whole) {
            vmovups(x, ptr[from]);
            return;
        }
        vmovups(x, constant(flipped_bits(format_) * 0x01010101u));
        vmovdqu8(x | k1, ptr[from]);
    }

    void begin_sums() {
        for (int i = 0; sums() && i < chains; ++i)
            if (i == 0) vmovups(sum(i), ptr[r11]);
            else vpxord(sum(i), sum(i), sum(i));
    }

    void end_sums() {
        if (!sums()) return;
        for (int i = 1; i < chains; ++i)
            vpaddd(sum(0), sum(0), sum(i));
        vmovups(ptr[r11], sum(0));
    }

    // Of a part of a line there are as many as it has.
    void store_quads(bool is_whole) {
        Label l_end;
        int quad = 0;
        const auto next = [&] { return static_cast<uint32_t>(quad++); };
        for (int j = 0; j < count; ++j) {
            if (!is_whole) {
                cmp(r8, static_cast<uint32_t>(j) * 4);
                jle(l_end, T_NEAR);
            }
            if (splits()) split(Zmm(j), high_);
            else flip(Zmm(j));
            store(rcx + next() * quad_bytes, Zmm(j), sum(quad));
            if (splits()) store(rcx + next() * quad_bytes, high_, sum(quad));
        }
        L(l_end);
    }
};

} // namespace

uint8_t flipped_bits(const integer_format_t &format) {
    switch (format.weights) {
    case data_type_t::s4: return 0x88;
    case data_type_t::s8: return 0x80;
    default: return 0;
    }
}

result_t make_jit_integer_unpack(
        const integer_format_t &format, jit_integer_rows_t &code) {
    return make_jit_as<rows_generator_t>(code, format);
}

result_t make_jit_integer_unpack(
        const integer_format_t &format, jit_integer_columns_t &code) {
    return make_jit_as<columns_generator_t>(code, format);
}

} // namespace dnnl_dequant
