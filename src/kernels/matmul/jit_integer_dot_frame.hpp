#ifndef KERNELS_MATMUL_JIT_INTEGER_DOT_FRAME_HPP
#define KERNELS_MATMUL_JIT_INTEGER_DOT_FRAME_HPP

#include <cstddef>

#include "kernels/matmul/jit_integer_stream_code.hpp"

namespace dnnl_dequant {

/// What some rows of integers times weights by column are on every instruction
/// set. Down a column, as many groups as a vector has lanes are a chunk, whose
/// sums are in the lanes of a vector, corrected and scaled by what lies in that
/// order too:
///   scaled = f32(sum a b - zp_a sum_b - zp_b sum_a) * scale of b
/// As many columns of that are transposed, and c += scaled * scale of a, group
/// by group.
///
/// Registers: rdi the arguments; rsi a column; rax the weights; rbx r13 a, and
/// its pitch; r8 r9 scales and zero points; r12 sums and zero points of rows;
/// rdx r14 scaled; r10 columns to go; r11 chunks to go. In the end rax scaled,
/// rbx its rows' scales, rcx c; r8 rdx where a row's begin; r10 rows and r11
/// chunks to go: add_groups() leaves all of these as they are.
class jit_integer_dot_frame_t : public jit_integer_stream_base_t {
public:
    using args_t = jit_integer_dot_args_t;

protected:
    static constexpr dim_t line = 64;
    /// Bytes of the weights that are asked for ahead.
    static constexpr size_t bytes_ahead = 2048;

    /// simd_w  the lanes of a vector
    jit_integer_dot_frame_t(const char *name,
            const integer_stream_weights_t &weights, int bias, int simd_w,
            int rows);

    /// Before any column.
    virtual void begin() = 0;
    virtual void end() {}
    /// To those rows of a that rbx and its pitch do not reach.
    virtual void point_to_rows() {}
    /// From the weights at rax to what is scaled, and on to those behind; of a
    /// chunk's groups.
    virtual void chunk(dim_t bytes) = 0;
    /// The same groups of all columns to c.
    virtual void add_groups(int groups) = 0;

    /// Scales a row's sums in the lanes of a vector.
    void scale_row(int row, const Xbyak::Xmm &sums,
            const Xbyak::Xmm &of_weights, const Xbyak::Xmm &zps,
            const Xbyak::Xmm &x);

    /// Bytes of src for one of the weights'.
    int src_bytes() const { return is_nibble() ? 2 : 1; }

    const dim_t bytes_, group_bytes_; // of a column, of a group
    const dim_t groups_;
    const int simd_w_, rows_;

private:
    void generate() override;
    void column();
    void next_chunk(int groups);
    void add_up();
    void add_chunk(int groups);

    // Whole chunks, but for a last one that differs.
    dim_t whole_chunks() const {
        return bytes_ == groups_ * group_bytes_ ? groups_ / simd_w_
                                                : (groups_ - 1) / simd_w_;
    }
    size_t simd_bytes() const { return static_cast<size_t>(simd_w_) * 4; }
    // Of a chunk, and of a row.
    size_t chunk_bytes() const { return args_t::cols * simd_bytes(); }
    size_t scaled_bytes() const { return row_bytes() * args_t::cols; }
    size_t row_bytes() const {
        return static_cast<size_t>(jit_integer_dot_pitch(groups_) * 4);
    }
};

} // namespace dnnl_dequant

#endif
