#ifndef KERNELS_MATMUL_JIT_INTEGER_UNPACK_CODE_HPP
#define KERNELS_MATMUL_JIT_INTEGER_UNPACK_CODE_HPP

#include <cstddef>

#include "kernels/matmul/jit_integer_code.hpp"

namespace dnnl_dequant {

/// What code that unpacks weights has on every instruction set: its arguments,
/// at rdi, and where its rows or columns are.
///
/// Registers of rows: rax the first of four; rsi rdx one and three pitches; rcx
/// quads; r8 quads to go; r9 how far ahead weights are asked for; r10 where
/// that is, and sums at both ends.
/// Of columns: rsi the first; rdx r9 one and three pitches; r11 sums; r10
/// slices to go.
class jit_integer_unpack_base_t : public jit_generator_t {
protected:
    static constexpr int rows_of_quad = 4;

    jit_integer_unpack_base_t(const char *name, const integer_format_t &format)
        : jit_generator_t(name)
        , format_(format) {}

    bool is_nibble() const { return bits_of(format_.weights) == 4; }
    Xbyak::Address arg(size_t offset) { return qword[rdi + offset]; }

    void load_rows() {
        using args_t = jit_integer_rows_args_t;
        mov(rax, arg(offsetof(args_t, weights)));
        mov(rcx, arg(offsetof(args_t, quads)));
        mov(rsi, arg(offsetof(args_t, pitch)));
        lea(rdx, ptr[rsi + rsi * 2]);
        mov(r8, arg(offsetof(args_t, quad_count)));
        mov(r9, arg(offsetof(args_t, ahead)));
    }
    Xbyak::RegExp row(int r) const {
        return r == 0 ? Xbyak::RegExp(rax) : r == 3 ? rax + rdx : rax + rsi * r;
    }
    void ask_for_rows() {
        for (int r = 0; r < rows_of_quad; ++r) {
            lea(r10, ptr[row(r)]);
            prefetcht0(ptr[r10 + r9]);
        }
    }

    void load_columns() {
        using args_t = jit_integer_columns_args_t;
        mov(rsi, arg(offsetof(args_t, weights)));
        mov(rdx, arg(offsetof(args_t, pitch)));
        lea(r9, ptr[rdx + rdx * 2]);
        mov(r11, arg(offsetof(args_t, sums)));
        mov(r10, arg(offsetof(args_t, slices)));
    }
    /// Of four.
    Xbyak::RegExp column(const Xbyak::Reg64 &first, int i) const {
        return i == 0   ? Xbyak::RegExp(first)
               : i == 3 ? first + r9
                        : first + rdx * i;
    }

    const integer_format_t format_;
};

} // namespace dnnl_dequant

#endif
