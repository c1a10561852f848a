// Few rows of bytes times weights that stay packed: nibbles become bytes in
// registers, once for up to twelve rows, whose quads lie side by side, so that
// every one is broadcast by what multiplies it. A slice of 32 columns at a time
// down a group; the weights' own sums are those of one row more, all ones.
//
//   dot = sum a b - zp_a sum_b - zp_b sum_a      all of it modulo 2^32
//   c += f32(dot) * scale of b * scale of a
// where sums fit 16 bits, one vpmaddwd makes both corrections.
//
// Of nibbles stored by row, the lower ones of a slice are its even columns:
// they are put in order when the group ends. Of those stored by column the
// lower ones are four of depth and the upper ones the next four.
//
// Registers: as jit_integer_tile_t says; r9 the group's columns; rcx the
// weights; rax rsi a, and the pitch of its quads; r10 quads to go; r11 the
// pitch of c; r14 bytes of columns that are done; in the end rbx r10 a row's
// parameters and c. The first 24 vectors are sums of rows, the next two those
// of the weights.

#include "kernels/matmul/jit_integer_tile_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int rows_at_once = 12, vectors = 2;
constexpr uint32_t line = 64, slice_cols = 32;

class generator_t : public jit_integer_tile_t {
public:
    explicit generator_t(const integer_format_t &format)
        : jit_integer_tile_t("jit_integer_packed", format, rows_at_once)
        , is_nibble_(bits_of(format.weights) == 4)
        , by_column_(format.depth_stride == 1) {}

private:
    Zmm sum(int row, int v) const { return Zmm(row * vectors + v); }
    Zmm of_weights(int v) const { return sum(rows_at_once, v); }
    const Zmm mask_ {30};

    // Both nibbles are of one column, or of two.
    bool has_two_depths() const { return is_nibble_ && by_column_; }
    bool has_two_columns() const { return is_nibble_ && !by_column_; }
    // Of a slice, and from the weights of one step to the next.
    uint32_t slice_bytes() const { return has_two_columns() ? line : 2 * line; }
    uint32_t step_bytes() const { return 2 * slice_bytes(); }

    void load_arguments() override {
        mov(rsi, arg(offsetof(integer_tile_t, a_quad_pitch)));
        mov(r11, arg(offsetof(integer_tile_t, c_pitch)));
        shl(r11, 2);
    }

    void clear_c(int rows) override {
        vpxord(Zmm(0), Zmm(0), Zmm(0));
        mov(r10, rdx);
        for (int r = 0; r < rows; ++r) {
            for (uint32_t at = 0; at < integer_panel * 4; at += line)
                vmovups(ptr[r10 + at], Zmm(0));
            add(r10, r11);
        }
    }

    void all_groups(int rows) override {
        Label l_group, l_slice;
        L(l_group);
        mov(r9, ptr[r8 + offsetof(integer_group_t, columns)]);
        xor_(r14, r14);
        L(l_slice);
        begin_slice(rows);
        all_quads(rows);
        end_slice(rows);
        add(r14, slice_cols * 4);
        cmp(r14, static_cast<uint32_t>(integer_panel * 4));
        jl(l_slice, T_NEAR);
        add(r8, sizeof(integer_group_t));
        add(r12, sizeof(row_group_t));
        dec(r15);
        jnz(l_group, T_NEAR);
    }

    void begin_slice(int rows) {
        mov(rax, ptr[r8 + offsetof(integer_group_t, place)]);
        shr(rax, 2);
        imul(rax, rsi);
        add(rax, arg(offsetof(integer_tile_t, a)));
        mov(rcx, r14);
        if (has_two_columns()) shr(rcx, 1);
        add(rcx, ptr[r8 + offsetof(integer_group_t, quads)]);
        for (int v = 0; v < vectors; ++v) {
            for (int r = 0; r < rows; ++r)
                vpxord(sum(r, v), sum(r, v), sum(r, v));
            vpxord(of_weights(v), of_weights(v), of_weights(v));
        }
        if (is_nibble_) vmovups(mask_, constant(0x0f0f0f0f));
    }

    void all_quads(int rows) {
        Label l_quad;
        mov(r10, ptr[r8 + offsetof(integer_group_t, quad_count)]);
        if (has_two_depths()) shr(r10, 1);
        align(32);
        L(l_quad);
        ask();
        step(rows);
        add(rcx, step_bytes());
        dec(r10);
        jnz(l_quad, T_NEAR);
    }

    // A piece of the weights that come next, in every four quads.
    void ask() {
        Label l_end;
        test(r10, has_two_depths() ? 1 : 3);
        jnz(l_end);
        for (int i = 0; i < (is_nibble_ ? 1 : 2); ++i)
            ask_for_piece(*this, rbp);
        L(l_end);
    }

    void step(int rows) {
        const Zmm x[] = {Zmm(26), Zmm(27)}, high[] = {Zmm(28), Zmm(29)};
        const int loads = has_two_columns() ? 1 : 2;
        for (int v = 0; v < loads; ++v) {
            vmovups(x[v], ptr[rcx + static_cast<uint32_t>(v) * line]);
            if (!is_nibble_) continue;
            vpsrlw(high[v], x[v], 4);
            vpandd(x[v], x[v], mask_);
            vpandd(high[v], high[v], mask_);
        }
        if (has_two_columns()) {
            multiply(rows, x[0], high[0]);
            return;
        }
        multiply(rows, x[0], x[1]);
        if (has_two_depths()) multiply(rows, high[0], high[1]);
    }

    // A quad of all rows by 32 columns.
    void multiply(int rows, const Zmm &first, const Zmm &second) {
        for (int r = 0; r < rows; ++r) {
            const Address a = ptr_b[rax + static_cast<size_t>(r) * 4];
            vpdpbusd(sum(r, 0), first, a);
            vpdpbusd(sum(r, 1), second, a);
        }
        if (format_.has_src_zps) {
            vpdpbusd(of_weights(0), first, constant(0x01010101));
            vpdpbusd(of_weights(1), second, constant(0x01010101));
        }
        add(rax, rsi);
    }

    void end_slice(int rows) {
        if (has_two_columns()) put_in_order(rows);
        load_columns();
        mov(rbx, r12);
        lea(r10, ptr[rdx + r14]);
        for (int r = 0; r < rows; ++r) {
            if (format_.has_short_sums) correct_short(r);
            else correct(r);
            add_to_c(r);
            add(rbx, r13);
            add(r10, r11);
        }
    }

    void put_in_order(int rows) {
        const Zmm first(30), second(31), even(26);
        load_interleaving(*this, first, second);
        const auto interleave = [&](const Zmm &a, const Zmm &b) {
            vmovdqa32(even, a);
            vpermt2d(a, first, b);
            vpermt2d(even, second, b);
            vmovdqa32(b, even);
        };
        for (int r = 0; r < rows; ++r)
            interleave(sum(r, 0), sum(r, 1));
        if (format_.has_src_zps) interleave(of_weights(0), of_weights(1));
    }

    Zmm zps(int v) const { return Zmm(26 + v); }
    Zmm scales(int v) const { return Zmm(28 + v); }
    const Zmm x_ {30}, of_row_ {31};

    Address of_columns(size_t offset, int v) {
        return ptr[r9 + r14 + (offset + static_cast<size_t>(v) * line)];
    }

    // Where sums are short, zero points stand beside those of the weights, both
    // with the other sign.
    void load_columns() {
        for (int v = 0; v < vectors; ++v) {
            vmovups(scales(v),
                    of_columns(offsetof(integer_columns_t, scales), v));
            vmovups(zps(v), of_columns(offsetof(integer_columns_t, zps), v));
            if (!format_.has_short_sums) continue;
            vpslld(zps(v), zps(v), 16);
            vpandd(x_, of_weights(v), constant(0xffff));
            vpord(zps(v), zps(v), x_);
            vpxord(x_, x_, x_);
            vpsubw(zps(v), x_, zps(v));
        }
    }

    void correct_short(int row) {
        vpbroadcastd(of_row_, ptr[rbx + offsetof(row_group_t, short_zp)]);
        for (int v = 0; v < vectors; ++v) {
            vpmaddwd(x_, of_row_, zps(v));
            vpaddd(sum(row, v), sum(row, v), x_);
        }
    }

    void correct(int row) {
        for (int v = 0; v < vectors; ++v) {
            vpmulld(x_, zps(v), ptr_b[rbx + offsetof(row_group_t, sum)]);
            vpsubd(sum(row, v), sum(row, v), x_);
            if (!format_.has_src_zps) continue;
            vpmulld(x_, of_weights(v), ptr_b[rbx + offsetof(row_group_t, zp)]);
            vpsubd(sum(row, v), sum(row, v), x_);
        }
    }

    void add_to_c(int row) {
        vbroadcastss(of_row_, ptr[rbx + offsetof(row_group_t, scale)]);
        for (int v = 0; v < vectors; ++v) {
            const Address c = ptr[r10 + static_cast<uint32_t>(v) * line];
            vcvtdq2ps(sum(row, v), sum(row, v));
            vmulps(sum(row, v), sum(row, v), scales(v));
            vfmadd213ps(sum(row, v), of_row_, c);
            vmovups(c, sum(row, v));
        }
    }

    const bool is_nibble_, by_column_;
};

} // namespace

void load_interleaving(
        jit_generator_t &code, const Zmm &first, const Zmm &second) {
    jit_generator_t::lanes_t of_first, of_second;
    for (uint32_t i = 0; i < 16; ++i) {
        of_first[i] = i / 2 + i % 2 * 16;
        of_second[i] = of_first[i] + 8;
    }
    code.vmovups(first, code.constant(of_first));
    code.vmovups(second, code.constant(of_second));
}

result_t make_jit_integer_packed(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    multiply.most_rows = rows_at_once;
    multiply.quads = 2;
    multiply.pieces = 1;
    return make_jit_as<generator_t>(multiply.code, format);
}

} // namespace dnnl_dequant
