#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_N_LANES_FRAME_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_N_LANES_FRAME_HPP

#include <cstddef>

#include "kernels/integer_gemm/jit_integer_stream_code.hpp"

namespace dnnl_dequant {

/// The base of skinny integer GEMMs by [K,N] weights on every instruction set.
/// It knows where weights, parameters and c are, and scales corrected sums. A
/// panel's sums go to memory after each chunk. When a group ends they are put
/// in order, corrected and scaled:
///     c += f32(sum a b - zp_a sum_b - zp_b sum_a) * scale of b * scale of a
///
/// Registers:
///     rdi      arguments
///     rcx      weights of a panel
///     rsi rdx  one and three pitches of weights
///     r13      pitch of a
///     r8       partial sums
///     r9       prefetch distance
///     r11 r12  scales and zero points
///     r15      c
///     rax rbp  c and the parameters of a row, when a group ends
class jit_integer_n_lanes_frame_t : public jit_integer_stream_base_t {
public:
    using args_t = jit_integer_n_lanes_args_t;

protected:
    static constexpr int rows_of_k4 = 4, line = 64;

    jit_integer_n_lanes_frame_t(const char *name,
            const integer_stream_weights_t &weights, int bias, int rows)
        : jit_integer_stream_base_t(name, weights, bias)
        , rows_(rows) {}

    /// Returns the sets of sums: one for each row, and one for the weights if
    /// they are summed.
    int sets() const { return rows_ + (has_src_zps() ? 1 : 0); }
    /// Returns the address of row r of four, relative to the first.
    Xbyak::RegExp row(const Xbyak::Reg64 &first, int r) const {
        return r == 0   ? Xbyak::RegExp(first)
               : r == 3 ? first + rdx
                        : first + rsi * r;
    }

    /// Loads all registers named above but those of c, and r9, which
    /// choose_ahead() loads for each panel.
    void load_arguments();
    void choose_ahead(const Xbyak::Reg64 &panels_to_go);
    /// @param partial_bytes The bytes of a panel's partial sums.
    void next_panel(size_t partial_bytes);

    /// Calls row(r) with rax at that row of c and rbp at its parameters.
    template <typename row_t>
    void for_rows(row_t &&row) {
        mov(rax, r15);
        mov(rbp, arg(offsetof(args_t, row_groups)));
        for (int r = 0; r < rows_; ++r) {
            row(r);
            add(rax, arg(offsetof(args_t, c_pitch)));
            add(rbp, arg(offsetof(args_t, row_groups_pitch)));
        }
    }
    /// Computes c += corrected sum * both scales; `at` is an offset in bytes
    /// from the panel's first column.
    void add_scaled(const Xbyak::Xmm &sum, const Xbyak::Xmm &x, size_t at);

    const int rows_;
};

} // namespace dnnl_dequant

#endif
