#ifndef KERNELS_MATMUL_JIT_TRANSPOSE_ROWS_HPP
#define KERNELS_MATMUL_JIT_TRANSPOSE_ROWS_HPP

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Generated code that has 32 rows of nibbles at hand, rax rbx rbp r12 eight
/// each, rsi the pitch, r8 r9 r10 3, 5 and 7 times that; and transposes bytes.
class jit_transpose_rows_t : public jit_generator_t {
protected:
    using jit_generator_t::jit_generator_t;

    /// Once rsi is there.
    void multiply_pitch() {
        lea(r8, ptr[rsi + rsi * 2]);
        lea(r9, ptr[rsi + rsi * 4]);
        lea(r10, ptr[r8 + rsi * 4]);
    }
    /// The other three, from rax on; and rax to the rows behind them.
    void point_to_rows() {
        lea(rbx, ptr[rax + rsi * 8]);
        lea(rbp, ptr[rbx + rsi * 8]);
        lea(r12, ptr[rbp + rsi * 8]);
    }
    void go_on() { lea(rax, ptr[r12 + rsi * 8]); }

    Xbyak::Address row(int r) const {
        const Xbyak::Reg64 bases[] = {rax, rbx, rbp, r12};
        const Xbyak::RegExp base(bases[r / 8]);
        const Xbyak::RegExp rows[]
                = {base, base + rsi, base + rsi * 2, base + r8, base + rsi * 4,
                        base + r9, base + r8 * 2, base + r10};
        return ptr[rows[r % 8]];
    }

    /// A round: the first `count` vectors, or as many behind them, become the
    /// others. It takes the highest bit of a vector's index to the lowest of
    /// the byte's, and that one's highest to the lowest of the vector's.
    template <typename vmm_t>
    void unpack(int from, int count) {
        const int to = count - from, half = count / 2;
        for (int v = 0; v < half; ++v) {
            const vmm_t a(from + v), b(from + half + v);
            vpunpcklbw(vmm_t(to + 2 * v), a, b);
            vpunpckhbw(vmm_t(to + 2 * v + 1), a, b);
        }
    }
};

} // namespace dnnl_dequant

#endif
