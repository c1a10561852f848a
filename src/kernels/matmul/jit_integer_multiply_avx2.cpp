// Bytes times nibbles by vpmaddubsw on AVX2: a tile of six rows by two vectors
// of columns, four times for a panel.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
// A product is -128 * 15 at least: sixteen of them, as eight quads have for a
// half of a lane, fit 16 bits. So sums of a chunk of eight are made in
// registers, and go to those of 32 bits in memory. Weights of 8 bits are two
// planes of nibbles, of which the upper ones' sums count sixteen times.
//
// Registers: as jit_integer_tile_t says; r11 the first of the columns, in
// bytes; rax rbx a of three rows each, rsi its pitch; rcx quads of b; r10 quads
// to go; r14 the group's columns; r9 the pitch of c. In between rax is c, r10
// parameters of a row. The first twelve vectors are sums, then two of b, a's
// broadcast, a product.

#include "kernels/matmul/jit_integer_tile_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int rows_at_once = 6, vectors = 2;
constexpr uint32_t quad_bytes = integer_panel * 4, vector_bytes = 32,
                   tile_bytes = vectors * vector_bytes;
// What is multiplied before sums become long ones.
constexpr uint32_t chunks[] = {8, 4, 1};

class generator_t : public jit_integer_tile_t {
public:
    explicit generator_t(const integer_format_t &format)
        : jit_integer_tile_t(
                  "jit_integer_multiply_avx2", format, rows_at_once) {}

private:
    static constexpr uint32_t sums_bytes
            = rows_at_once * vectors * vector_bytes;

    Ymm sum(int row, int v) const { return Ymm(row * vectors + v); }
    Ymm vmm_b(int v) const { return Ymm(rows_at_once * vectors + v); }
    const Ymm vmm_a_ {14}, product_ {15};
    bool has_bytes() const { return bits_of(format_.weights) == 8; }

    RegExp row_of_a(int row) const {
        const RegExp base(row < 3 ? rax : rbx);
        return row % 3 == 0 ? base : base + rsi * (row % 3);
    }
    Address long_sum(int row, int v) {
        return ptr[rsp
                   + static_cast<uint32_t>(row * vectors + v) * vector_bytes];
    }
    Address columns(size_t offset, int v) {
        return ptr[r14 + r11 + offset
                   + static_cast<uint32_t>(v) * vector_bytes];
    }

    void load_arguments() override {
        mov(rsi, arg(offsetof(integer_tile_t, a_pitch)));
        mov(r9, arg(offsetof(integer_tile_t, c_pitch)));
        shl(r9, 2);
    }

    void clear_c(int rows) override {
        vpxor(product_, product_, product_);
        mov(rax, rdx);
        for (int r = 0; r < rows; ++r) {
            for (uint32_t at = 0; at < quad_bytes; at += vector_bytes)
                vmovups(ptr[rax + at], product_);
            add(rax, r9);
        }
    }

    void all_groups(int rows) override {
        take_room();
        Label l_group, l_columns;
        L(l_group);
        mov(r14, ptr[r8 + offsetof(integer_group_t, columns)]);
        xor_(r11, r11);
        L(l_columns);
        begin_sums(rows);
        all_quads(rows);
        correct(rows);
        add_to_c(rows);
        add(r11, tile_bytes);
        cmp(r11, quad_bytes);
        jb(l_columns, T_NEAR);
        add(r8, sizeof(integer_group_t));
        add(r12, sizeof(row_group_t));
        dec(r15);
        jnz(l_group, T_NEAR);
        mov(rsp, ptr[rsp + sums_bytes]);
    }

    // For the long sums, and behind them rsp as it was.
    void take_room() {
        mov(rax, rsp);
        sub(rsp, sums_bytes + vector_bytes);
        and_(rsp, ~(vector_bytes - 1));
        mov(ptr[rsp + sums_bytes], rax);
    }

    // Short corrections come first.
    void begin_sums(int rows) {
        const bool corrects = format_.has_short_sums;
        if (corrects) {
            mov(r10, r12);
            for (int v = 0; v < vectors; ++v)
                vmovups(vmm_b(v),
                        columns(offsetof(integer_columns_t, shorts), v));
        } else {
            vpxor(product_, product_, product_);
        }
        for (int r = 0; r < rows; ++r) {
            if (corrects)
                vpbroadcastd(
                        vmm_a_, ptr[r10 + offsetof(row_group_t, short_zp)]);
            for (int v = 0; v < vectors; ++v) {
                if (corrects) vpmaddwd(product_, vmm_a_, vmm_b(v));
                vmovdqa(long_sum(r, v), product_);
            }
            if (corrects) add(r10, r13);
        }
    }

    void all_quads(int rows) {
        mov(rcx, ptr[r8 + offsetof(integer_group_t, quads)]);
        add(rcx, r11);
        mov(rax, arg(offsetof(integer_tile_t, a)));
        add(rax, ptr[r8 + offsetof(integer_group_t, place)]);
        lea(rbx, ptr[rsi + rsi * 2]);
        add(rbx, rax);
        mov(r10, ptr[r8 + offsetof(integer_group_t, quad_count)]);
        for (const uint32_t count : chunks) {
            Label l_chunk, l_end;
            cmp(r10, count);
            jb(l_end, T_NEAR);
            align(32);
            L(l_chunk);
            chunk(rows, count);
            sub(r10, count);
            cmp(r10, count);
            jae(l_chunk, T_NEAR);
            L(l_end);
        }
    }

    void chunk(int rows, uint32_t count) {
        if (count == chunks[0] && format_.depth_stride == 1)
            ask_for_piece(*this, rbp);
        constexpr uint32_t ones = 0x00010001;
        constexpr int nibble = 4;
        for (int shift = 0; shift < (has_bytes() ? 8 : 4); shift += nibble) {
            for (uint32_t i = 0; i < count; ++i)
                quad(rows, i, shift);
            lengthen(rows, ones << shift);
        }
        add(rcx, count * quad_bytes);
        add(rax, count * 4);
        if (rows > 3) add(rbx, count * 4);
    }

    void quad(int rows, uint32_t i, int shift) {
        for (int v = 0; v < vectors; ++v)
            load_b(v, i, shift);
        for (int r = 0; r < rows; ++r) {
            vpbroadcastd(vmm_a_, ptr[row_of_a(r) + i * 4]);
            for (int v = 0; v < vectors; ++v) {
                const Ymm to = i == 0 ? sum(r, v) : product_;
                vpmaddubsw(to, vmm_b(v), vmm_a_);
                if (i > 0) vpaddw(sum(r, v), sum(r, v), product_);
            }
        }
    }

    void load_b(int v, uint32_t i, int shift) {
        vmovdqu(vmm_b(v), ptr[rcx + i * quad_bytes
                                  + static_cast<uint32_t>(v) * vector_bytes]);
        if (!has_bytes()) return;
        if (shift > 0) vpsrlw(vmm_b(v), vmm_b(v), static_cast<uint8_t>(shift));
        vpand(vmm_b(v), vmm_b(v), constant(0x0f0f0f0f));
    }

    void lengthen(int rows, uint32_t factors) {
        vmovdqa(product_, constant(factors));
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < vectors; ++v) {
                vpmaddwd(sum(r, v), sum(r, v), product_);
                vpaddd(sum(r, v), sum(r, v), long_sum(r, v));
                vmovdqa(long_sum(r, v), sum(r, v));
            }
    }

    void correct(int rows) {
        if (format_.has_short_sums) return;
        subtract(rows, offsetof(integer_columns_t, zps),
                offsetof(row_group_t, sum));
        if (format_.has_src_zps)
            subtract(rows, offsetof(integer_columns_t, sums),
                    offsetof(row_group_t, zp));
    }

    void subtract(int rows, size_t of_columns, size_t of_row) {
        mov(r10, r12);
        for (int r = 0; r < rows; ++r) {
            vpbroadcastd(vmm_a_, ptr[r10 + of_row]);
            for (int v = 0; v < vectors; ++v) {
                vpmulld(product_, vmm_a_, columns(of_columns, v));
                vmovdqa(sum(r, v), long_sum(r, v));
                vpsubd(sum(r, v), sum(r, v), product_);
                vmovdqa(long_sum(r, v), sum(r, v));
            }
            add(r10, r13);
        }
    }

    void add_to_c(int rows) {
        for (int v = 0; v < vectors; ++v)
            vmovups(vmm_b(v), columns(offsetof(integer_columns_t, scales), v));
        mov(r10, r12);
        lea(rax, ptr[rdx + r11]);
        for (int r = 0; r < rows; ++r) {
            vbroadcastss(vmm_a_, ptr[r10 + offsetof(row_group_t, scale)]);
            for (int v = 0; v < vectors; ++v) {
                const Address c
                        = ptr[rax + static_cast<uint32_t>(v) * vector_bytes];
                vcvtdq2ps(sum(r, v), long_sum(r, v));
                vmulps(sum(r, v), sum(r, v), vmm_b(v));
                vfmadd213ps(sum(r, v), vmm_a_, c);
                vmovups(c, sum(r, v));
            }
            add(r10, r13);
            add(rax, r9);
        }
    }
};

} // namespace

result_t make_jit_integer_multiply_avx2(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    multiply.most_rows = rows_at_once;
    multiply.quads = chunks[0];
    multiply.pieces = quad_bytes / tile_bytes;
    return make_jit_as<generator_t>(multiply.code, format);
}

} // namespace dnnl_dequant
