// A few rows times a tile of 4-bit weights whose columns lie one after the
// other. As in jit_dot_code.cpp a column's weights are looked up in a table of
// the 16 numbers there are; four columns' weights are made of the tile's four
// parts, a vector each, which has eight vectors of numbers, or four of bf16.
// The sums come from memory and go back there, sixteen parts each.
//
// Registers: rdi the arguments; rsi the tile; rax rbx the rows of a,
// r8 a's pitch; rdx sums, r9 their pitch, rcx a row of them; r11 r12 scales and
// zero points; r13 what is asked for next, r14 where that row ends; r10 columns
// to go. The first vectors are sums; then, a column each, the weights as they
// lie, the table and a vector of weights; then those of a, the numbers of a
// nibble, scratch, and what rounding needs.

#include "kernels/matmul/jit_transposed_code.hpp"

#include <cstddef>

#include "kernels/matmul/jit_transpose_nibbles.hpp"
#include "kernels/matmul/nibble_lookup.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int quarters = 4;
// From one quarter's column to the next one's.
constexpr int quarter_cols = transposed_tile / quarters;
constexpr int vector_bytes = 64;

class jit_transposed_generator_t : public jit_generator_t {
public:
    jit_transposed_generator_t(const gemv_weights_t &weights, int rows)
        : jit_generator_t("jit_transposed")
        , w_(weights)
        , rows_(rows)
        , vectors_(transposed_step_of(weights).vectors)
        , lookup_(*this, w_)
        , lanes_(*this, scratch().getIdx() + 1, data_type_t::undef) {}

private:
    bool has_zps() const { return lookup_.has_zps(); }

    Zmm sum(int row, int col) const { return Zmm(row * quarters + col); }
    Zmm raw(int col) const { return Zmm(rows_ * quarters + col); }
    Zmm table(int col) const { return raw(quarters + col); }
    Zmm weight(int col) const { return raw(2 * quarters + col); }
    // One row's stay in registers.
    bool keeps_a() const { return rows_ == 1; }
    Zmm vmm_a(int j) const { return raw(3 * quarters + (keeps_a() ? j : 0)); }
    Zmm numbers() const { return Zmm(vmm_a(vectors_ - 1).getIdx() + 1); }
    Zmm scratch() const { return Zmm(numbers().getIdx() + 1); }

    RegExp row_of_a(int row) const {
        if (row == 3) return rbx + r8;
        return row == 0 ? RegExp(rax) : rax + r8 * row;
    }
    Address arg(size_t offset) { return qword[rdi + offset]; }
    static uint32_t bytes(int count) {
        return static_cast<uint32_t>(count * vector_bytes);
    }

    void generate() override {
        // What rounding needs is known when all else is generated.
        Label l_constants, l_begin, l_columns;
        preamble();
        jmp(l_constants, T_NEAR);
        L(l_begin);
        load_arguments();
        align(32);
        L(l_columns);
        four_columns();
        dec(r10);
        jnz(l_columns, T_NEAR);
        mov(arg(offsetof(jit_transposed_args_t, ahead)), r13);
        mov(arg(offsetof(jit_transposed_args_t, ahead_end)), r14);
        postamble();
        L(l_constants);
        lanes_.load_constants();
        jmp(l_begin, T_NEAR);
    }

    void load_arguments() {
        mov(rsi, arg(offsetof(jit_transposed_args_t, tile)));
        mov(rax, arg(offsetof(jit_transposed_args_t, a)));
        mov(r8, arg(offsetof(jit_transposed_args_t, a_pitch)));
        mov(r11, arg(offsetof(jit_transposed_args_t, scales)));
        mov(r12, arg(offsetof(jit_transposed_args_t, zps)));
        mov(rdx, arg(offsetof(jit_transposed_args_t, sums)));
        mov(r9, arg(offsetof(jit_transposed_args_t, sums_pitch)));
        mov(r13, arg(offsetof(jit_transposed_args_t, ahead)));
        mov(r14, arg(offsetof(jit_transposed_args_t, ahead_end)));
        mov(r10d, static_cast<uint32_t>(quarter_cols));
        lea(rbx, ptr[rax + r8 * 2]);
        vmovups(numbers(), constant(nibble_numbers(w_.type)));
        for (int j = 0; keeps_a() && j < vectors_; ++j)
            vmovups(vmm_a(j), ptr[rax + bytes(j)]);
    }

    void four_columns() {
        ask_ahead();
        load_weights();
        for (int c = 0; c < quarters; ++c)
            make_table(c);
        move_sums(true);
        for (int j = 0; j < vectors_; ++j)
            multiply(j);
        move_sums(false);
        add(rsi, bytes(1));
        add(rdx, bytes(1));
        add(r11, 4);
        if (has_zps()) add(r12, 4);
    }

    // As many lines as there are columns here.
    void ask_ahead() {
        Label l_within;
        for (int c = 0; c < quarters; ++c)
            prefetcht1(ptr[r13 + bytes(c)]);
        add(r13, bytes(quarters));
        cmp(r13, r14);
        jb(l_within, T_NEAR);
        mov(r13, arg(offsetof(jit_transposed_args_t, ahead_row)));
        add(r13, arg(offsetof(jit_transposed_args_t, ahead_pitch)));
        mov(arg(offsetof(jit_transposed_args_t, ahead_row)), r13);
        add(r14, arg(offsetof(jit_transposed_args_t, ahead_pitch)));
        L(l_within);
    }

    // Of each column its quarter of every part.
    void load_weights() {
        constexpr uint8_t even = 0x88, odd = 0xdd;
        const auto part = [&](int p) {
            return ptr[rsi + static_cast<uint32_t>(p * transposed_part_bytes)];
        };
        const Zmm first = weight(0), second = weight(1);
        vmovups(raw(0), part(0));
        vmovups(raw(1), part(2));
        vshufi32x4(first, raw(0), part(1), even);
        vshufi32x4(second, raw(1), part(3), even);
        vshufi32x4(raw(3), raw(0), part(1), odd);
        vshufi32x4(raw(1), raw(1), part(3), odd);
        vshufi32x4(raw(0), first, second, even);
        vshufi32x4(raw(2), first, second, odd);
        vshufi32x4(first, raw(3), raw(1), even);
        vshufi32x4(raw(3), raw(3), raw(1), odd);
        vmovaps(raw(1), first);
    }

    void make_table(int c) {
        const auto at = static_cast<uint32_t>(c * quarter_cols * 4);
        lookup_.make_table(table(c), numbers(), ptr_b[r11 + at],
                ptr_b[r12 + at], lanes_, scratch());
    }

    void move_sums(bool loads) {
        mov(rcx, rdx);
        for (int r = 0; r < rows_; ++r) {
            for (int c = 0; c < quarters; ++c) {
                const Address at = ptr[rcx + bytes(c * quarter_cols)];
                if (loads) vmovups(sum(r, c), at);
                else vmovups(at, sum(r, c));
            }
            if (r + 1 < rows_) add(rcx, r9);
        }
    }

    void multiply(int j) {
        for (int c = 0; c < quarters; ++c)
            lookup_.look_up(weight(c), raw(c), j, table(c));
        for (int r = 0; r < rows_; ++r) {
            if (!keeps_a()) vmovups(vmm_a(j), ptr[row_of_a(r) + bytes(j)]);
            for (int c = 0; c < quarters; ++c)
                lookup_.multiply_add(sum(r, c), weight(c), vmm_a(j));
        }
    }

    const gemv_weights_t w_;
    const int rows_, vectors_;
    jit_nibble_lookup_t lookup_;
    jit_lanes_t<isa_avx512_core> lanes_;
};

} // namespace

nibble_step_t transposed_step_of(const gemv_weights_t &weights) {
    if (weights.multiplied == data_type_t::bf16) return {4, 32};
    return {8, 16};
}

result_t make_jit_transposed_code(
        const gemv_weights_t &weights, int rows, jit_transposed_code_t &code) {
    return make_jit_as<jit_transposed_generator_t>(code, weights, rows);
}

} // namespace dnnl_dequant
