#ifndef KERNELS_MATMUL_JIT_INTEGER_TILE_CODE_HPP
#define KERNELS_MATMUL_JIT_INTEGER_TILE_CODE_HPP

#include <cstddef>

#include "kernels/jit/generator.hpp"
#include "kernels/matmul/jit_integer_code.hpp"

namespace dnnl_dequant {

/// What generated code of a tile of integers is, whatever its weights are: the
/// arguments, and code of its own for each number of rows.
///
/// Registers: rdi the tile; r8 the group; r15 groups to go; r12 r13 parameters
/// of rows, and their pitch; rdx c; rbp what is asked for.
class jit_integer_tile_t : public jit_generator_t {
protected:
    jit_integer_tile_t(
            const char *name, const integer_format_t &format, int most_rows)
        : jit_generator_t(name)
        , format_(format)
        , most_rows_(most_rows) {}

    /// What else it wants in registers.
    virtual void load_arguments() = 0;
    virtual void clear_c(int rows) = 0;
    virtual void all_groups(int rows) = 0;

    Xbyak::Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() final {
        preamble();
        mov(r12, arg(offsetof(integer_tile_t, row_groups)));
        imul(r13, arg(offsetof(integer_tile_t, row_groups_pitch)),
                sizeof(row_group_t));
        mov(r8, arg(offsetof(integer_tile_t, groups)));
        mov(r15, arg(offsetof(integer_tile_t, group_count)));
        mov(rbp, arg(asked_at));
        mov(rdx, arg(offsetof(integer_tile_t, c)));
        load_arguments();
        Xbyak::Label l_end;
        for (int rows = most_rows_; rows > 0; --rows) {
            Xbyak::Label l_next;
            cmp(arg(offsetof(integer_tile_t, rows)),
                    static_cast<uint32_t>(rows));
            jne(l_next, T_NEAR);
            all_of(rows);
            jmp(l_end, T_NEAR);
            L(l_next);
        }
        L(l_end);
        mov(arg(asked_at), rbp);
        postamble();
    }

    const integer_format_t format_;

private:
    const int most_rows_;
    static constexpr size_t asked_at
            = offsetof(integer_tile_t, asked) + offsetof(integer_asked_t, at);

    void all_of(int rows) {
        Xbyak::Label l_sums_there;
        cmp(byte[rdi + offsetof(integer_tile_t, accumulates)], 0);
        jne(l_sums_there, T_NEAR);
        clear_c(rows);
        L(l_sums_there);
        all_groups(rows);
    }
};

} // namespace dnnl_dequant

#endif
