#ifndef KERNELS_MATMUL_JIT_INTEGER_TILE_CODE_HPP
#define KERNELS_MATMUL_JIT_INTEGER_TILE_CODE_HPP

#include <cstddef>

#include "kernels/jit/simd.hpp"
#include "kernels/matmul/jit_integer_code.hpp"

namespace dnnl_dequant {

/// What generated code of a tile of integers is, whatever its weights are: the
/// arguments, and code of its own for each number of rows.
class jit_integer_tile_t : public jit_simd_t {
protected:
    jit_integer_tile_t(
            const char *name, const integer_format_t &format, int most_rows)
        : jit_simd_t(name)
        , format_(format)
        , most_rows_(most_rows) {}

    /// What else it wants in registers.
    virtual void load_arguments() = 0;
    virtual void clear_c(int rows) = 0;
    virtual void all_groups(int rows) = 0;

    Xbyak::Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() final {
        preamble();
        mov(parameters_, arg(offsetof(integer_tile_t, row_groups)));
        imul(parameters_pitch_, arg(offsetof(integer_tile_t, row_groups_pitch)),
                sizeof(row_group_t));
        mov(group_, arg(offsetof(integer_tile_t, groups)));
        mov(groups_, arg(offsetof(integer_tile_t, group_count)));
        mov(asked_, arg(asked_at));
        mov(c_, arg(offsetof(integer_tile_t, c)));
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
        mov(arg(asked_at), asked_);
        postamble();
    }

    const integer_format_t format_;
    const Xbyak::Reg64 group_ = general_.take("group", r8),
                       groups_ = general_.take("groups to go", r15),
                       parameters_ = general_.take("parameters of rows", r12),
                       parameters_pitch_
                       = general_.take("pitch of parameters", r13),
                       c_ = general_.take("c", rdx),
                       asked_ = general_.take("weights asked for", rbp);

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
