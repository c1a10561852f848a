#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_N_LANES_CODE_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_N_LANES_CODE_HPP

#include <cstddef>

#include "kernels/integer_gemm/jit_integer_stream_code.hpp"
#include "kernels/jit/prefetch_rows.hpp"

namespace dnnl_dequant {

/// Takes four rows of weights at a time, down a chunk of one group, panel after
/// panel of columns.
struct jit_integer_n_lanes_args_t {
    const void *weights;
    const uint8_t *a;
    int32_t *partial; // sums of a group, of rows and of weights, by panels
    const float *scales, *zps;
    const row_group_t *row_groups;
    float *c;
    dim_t pitch, a_pitch, c_pitch, row_groups_pitch; // bytes
    dim_t k4_blocks, panels;
    panels_ahead_t ahead;   // on AVX-512
    dim_t continues, ends;  // a group's sums: begun before, scaled here
    next_rows_t next_chunk; // on AVX2
};

using jit_integer_n_lanes_t = jit_function_t<const jit_integer_n_lanes_args_t>;

result_t make_jit_integer_n_lanes(const integer_stream_weights_t &weights,
        int rows, jit_integer_n_lanes_t &code);
result_t make_jit_integer_n_lanes_avx2(const integer_stream_weights_t &weights,
        int rows, jit_integer_n_lanes_t &code);

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
///     r9 rbp   what is prefetched: each instruction set's own
///     r11 r12  scales and zero points
///     r15      c
///     rax rbx  weights of a k4 block, and a
///     r10      k4 blocks to go
///     rax rbp  c and the parameters of a row, when a group ends
class jit_integer_n_lanes_base_t : public jit_integer_stream_base_t {
public:
    using jit_integer_stream_base_t::jit_integer_stream_base_t;

protected:
    using args_t = jit_integer_n_lanes_args_t;

    /// Loads a panel's partial sums, or begins new ones.
    virtual void begin_sums() = 0;
    /// Adds a chunk to the partial sums, and stores them.
    virtual void add_chunk() = 0;
    /// Puts the sums of a group in order, and scales them.
    virtual void end_group() = 0;

    /// Loads rcx, rsi, rdx, r13, r8, r11 and r12.
    void load_arguments() {
        mov(rcx, arg(offsetof(args_t, weights)));
        mov(rsi, arg(offsetof(args_t, pitch)));
        lea(rdx, ptr[rsi + rsi * 2]);
        mov(r13, arg(offsetof(args_t, a_pitch)));
        mov(r8, arg(offsetof(args_t, partial)));
        mov(r11, arg(offsetof(args_t, scales)));
        mov(r12, arg(offsetof(args_t, zps)));
    }

    /// Multiplies a panel, and goes to the next one.
    void panel() {
        Label l_end;
        begin_sums();
        add_chunk();
        cmp(arg(offsetof(args_t, ends)), 0);
        je(l_end, T_NEAR);
        end_group();
        L(l_end);
        const uint32_t cols = is_nibble() ? 2 * line : line;
        // Each column has a sum, on AVX2 each nibble.
        const uint32_t sums = has_vnni_ ? cols : 2 * line;
        add(rcx, line);
        add(r8, static_cast<uint32_t>(sets()) * sums * 4);
        for (const Reg64 &at : {r11, r12, r15})
            add(at, cols * 4);
    }

    void load_k4_arguments() {
        mov(rbx, arg(offsetof(args_t, a)));
        mov(r10, arg(offsetof(args_t, k4_blocks)));
    }
    void next_k4() {
        lea(rax, ptr[rax + rsi * k4_depth]);
        add(rbx, k4_depth);
    }

    /// Returns the address of row r of four, relative to the first.
    RegExp row(const Reg64 &first, int r) const {
        return r == 0 ? RegExp(first) : r == 3 ? first + rdx : first + rsi * r;
    }

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

    /// Corrects a row's sums, scales them and adds them to c. `at` is an offset
    /// in bytes from the panel's first column. `x` and the vector behind it are
    /// scratch.
    void scale(
            const Vmm &sums, const Vmm &of_weights, const Vmm &x, size_t at) {
        if (has_zps()) {
            load_zps(x, ptr[r12 + at]);
            multiply(x, x, offsetof(row_group_t, sum), x.getIdx() + 1);
            vpsubd(sums, sums, x);
        }
        if (has_src_zps()) {
            multiply(x, of_weights, offsetof(row_group_t, zp), x.getIdx() + 1);
            vpsubd(sums, sums, x);
        }
        vcvtdq2ps(sums, sums);
        vmulps(sums, sums, ptr[r11 + at]);
        vbroadcastss(x, ptr[rbp + offsetof(row_group_t, scale)]);
        vfmadd213ps(sums, x, ptr[rax + at]);
        vmovups(ptr[rax + at], sums);
    }

private:
    // Multiplies by one of the row's parameters.
    void multiply(const Vmm &to, const Vmm &x, size_t parameter, int scratch) {
        if (to.isZMM()) {
            vpmulld(to, x, ptr_b[rbp + parameter]);
            return;
        }
        const Ymm of_row(scratch);
        vpbroadcastd(of_row, ptr[rbp + parameter]);
        vpmulld(to, x, of_row);
    }
};

} // namespace dnnl_dequant

#endif
