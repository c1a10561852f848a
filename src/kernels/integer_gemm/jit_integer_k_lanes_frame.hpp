#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_K_LANES_FRAME_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_K_LANES_FRAME_HPP

#include <cstddef>

#include "kernels/integer_gemm/jit_integer_stream_code.hpp"

namespace dnnl_dequant {

/// The base of skinny integer GEMMs by [N,K] weights on every instruction set.
/// A chunk is as many groups of a column as a vector has lanes. Its sums are in
/// the lanes of a vector; parameters have that order too:
///     scaled = f32(sum a b - zp_a sum_b - zp_b sum_a) * scale of b
/// The scaled sums of as many columns are transposed. Then c += scaled * scale
/// of a, group by group.
///
/// Registers:
///     rdi      arguments
///     rsi      a column
///     rax      weights
///     rbx r13  a and its pitch
///     r8 r9    scales and zero points
///     r12      sums and zero points of rows
///     rdx r14  scaled
///     r10 r11  columns and chunks to go
/// At the end, where add_groups() changes none of them:
///     rax      scaled
///     rbx      the scales of its rows
///     rcx      c
///     r8 rdx   the beginning of a row's scales and of its scaled sums
///     r10 r11  rows and chunks to go
class jit_integer_k_lanes_frame_t : public jit_integer_stream_base_t {
public:
    using args_t = jit_integer_k_lanes_args_t;

protected:
    static constexpr dim_t line = 64;
    /// The prefetch distance of weights.
    static constexpr size_t bytes_ahead = 2048;

    /// @param simd_w The lanes of a vector.
    jit_integer_k_lanes_frame_t(const char *name,
            const integer_stream_weights_t &weights, int bias, int simd_w,
            int rows);

    /// Runs before any column.
    virtual void begin() = 0;
    virtual void end() {}
    /// Points to the rows of a that rbx and its pitch do not reach.
    virtual void point_to_rows() {}
    /// Makes a chunk's scaled sums from the weights at rax, and advances.
    virtual void chunk(dim_t bytes) = 0;
    /// Adds the same groups of all columns to c.
    virtual void add_groups(int groups) = 0;

    /// Scales a row's sums in the lanes of a vector.
    void scale_row(int row, const Xbyak::Xmm &sums,
            const Xbyak::Xmm &of_weights, const Xbyak::Xmm &zps,
            const Xbyak::Xmm &x);

    /// Returns the bytes of src for one byte of weights.
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

    // All chunks are whole except for a last one that may differ.
    dim_t whole_chunks() const {
        return bytes_ == groups_ * group_bytes_ ? groups_ / simd_w_
                                                : (groups_ - 1) / simd_w_;
    }
    size_t simd_bytes() const { return static_cast<size_t>(simd_w_) * 4; }
    // Return the bytes of a chunk, and of a row.
    size_t chunk_bytes() const { return args_t::cols * simd_bytes(); }
    size_t scaled_bytes() const { return row_bytes() * args_t::cols; }
    size_t row_bytes() const {
        return static_cast<size_t>(jit_integer_k_lanes_pitch(groups_) * 4);
    }
};

} // namespace dnnl_dequant

#endif
