#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_K_LANES_CODE_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_K_LANES_CODE_HPP

#include <algorithm>
#include <cstddef>

#include "kernels/integer_gemm/jit_integer_stream_code.hpp"
#include "kernels/jit/transpose_dwords.hpp"

namespace dnnl_dequant {

/// Multiplies some rows by up to sixteen columns, down their whole depth.
struct jit_integer_k_lanes_args_t {
    static constexpr dim_t cols = 16;

    const void *weights;
    dim_t pitch; // bytes from column to column
    const uint8_t *a;
    /// A row's sums, one for each group, then its zero points, then the next
    /// row's. The pitch of each is jit_integer_k_lanes_pitch().
    const int32_t *of_rows;
    const row_group_t *row_groups;
    const float *scales, *zps; // column by column, one for each group
    /// Scratch: a row's groups by columns, in tiles of 16 x 16, on AVX2 8 x 8.
    float *scaled;
    float *c;                                 // all sixteen are written to
    dim_t a_pitch, c_pitch, row_groups_pitch; // bytes
    dim_t count;                              // of columns
};

/// There is room for so many groups; the last ones are unspecified.
constexpr dim_t jit_integer_k_lanes_pitch(dim_t groups) {
    return round_up(groups, 16);
}

using jit_integer_k_lanes_t = jit_function_t<const jit_integer_k_lanes_args_t>;

result_t make_jit_integer_k_lanes(const integer_stream_weights_t &weights,
        int rows, jit_integer_k_lanes_t &code);
/// @param isa AVX2. With VNNI it multiplies whole bytes.
result_t make_jit_integer_k_lanes_avx2(const integer_stream_weights_t &weights,
        isa_t isa, int rows, jit_integer_k_lanes_t &code);

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
///     rbx r13  a and its pitch; rcx its fourth row
///     r8 r9    scales and zero points
///     r12      sums and zero points of rows
///     rdx r14  scaled
///     r10 r11  columns and chunks to go
///     r15      lines to go of a group
/// At the end:
///     rax      scaled
///     rbx      the scales of its rows
///     rcx      c
///     r8 rdx   the beginning of a row's scales and of its scaled sums
///     r10 r11  rows and chunks to go
template <isa_t isa>
class jit_integer_k_lanes_base_t : public jit_integer_stream_base_t {
public:
    using jit_integer_stream_base_t::jit_integer_stream_base_t;

protected:
    using args_t = jit_integer_k_lanes_args_t;
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr int simd_w = jit_isa_t<isa>::simd_w;
    /// The prefetch distance of weights.
    static constexpr size_t bytes_ahead = 2048;

    /// Runs before any column.
    virtual void begin() = 0;
    virtual void end() {}
    /// Makes a chunk's scaled sums from the weights at rax, and advances.
    virtual void chunk(dim_t bytes) = 0;

    /// Returns the bytes of src for one byte of weights.
    uint32_t src_bytes() const { return is_nibble() ? 2 : 1; }
    /// Goes to weights that are `bytes` behind, and to their rows of src.
    void advance(dim_t bytes) {
        const auto of_weights = static_cast<uint32_t>(bytes);
        add(rax, of_weights);
        add(rbx, of_weights * src_bytes());
        if (rows_ > 3) add(rcx, of_weights * src_bytes());
    }
    /// Emits a loop over lines of a group, of which `add_line` adds one.
    template <typename add_line_t>
    void for_lines(dim_t lines, const add_line_t &add_line) {
        mov(r15, static_cast<uint64_t>(lines));
        align(16);
        repeat(r15, [&] {
            add_line();
            advance(line);
        });
    }

    /// Corrects and scales a row's sums in the lanes of a vector.
    void scale_row(int row, const Vmm &sums, const Vmm &of_weights,
            const Vmm &zps, const Vmm &x) {
        const auto r = static_cast<uint32_t>(row);
        const auto of_sums = r12 + 2 * r * row_bytes();
        if (has_zps()) {
            vpmulld(x, zps, ptr[of_sums]);
            vpsubd(sums, sums, x);
        }
        if (has_src_zps()) {
            vpmulld(x, of_weights, ptr[of_sums + row_bytes()]);
            vpsubd(sums, sums, x);
        }
        vcvtdq2ps(sums, sums);
        vmulps(sums, sums, ptr[r8]);
        vmovups(ptr[r14 + r * scaled_bytes()], sums);
    }

    // The bytes of a column and of a group.
    const dim_t bytes_ = bytes_of(w_.format.weights, w_.depth);
    const dim_t group_bytes_
            = std::min(bytes_of(w_.format.weights, w_.group), bytes_);
    const dim_t groups_ = w_.groups();

private:
    // Return the bytes of a row's parameters, and of its scaled sums.
    uint32_t row_bytes() const {
        return static_cast<uint32_t>(jit_integer_k_lanes_pitch(groups_) * 4);
    }
    uint32_t scaled_bytes() const { return row_bytes() * args_t::cols; }

    void generate() override {
        preamble();
        begin();
        mov(rsi, arg(offsetof(args_t, weights)));
        mov(r8, arg(offsetof(args_t, scales)));
        mov(r9, arg(offsetof(args_t, zps)));
        mov(rdx, arg(offsetof(args_t, scaled)));
        mov(r13, arg(offsetof(args_t, a_pitch)));
        mov(r10, arg(offsetof(args_t, count)));
        align(32);
        repeat(r10, [&] {
            multiply_column();
            add(rsi, arg(offsetof(args_t, pitch)));
            add(rdx, vmm_bytes(1));
        });
        add_rows();
        end();
        postamble();
    }

    // Emits body(groups, bytes) for all groups of a column: a loop over whole
    // chunks, and the rest.
    template <typename body_t>
    void for_chunks(dim_t whole, const body_t &body) {
        const dim_t done = whole * simd_w;
        if (whole > 0) {
            mov(r11, static_cast<uint64_t>(whole));
            repeat(r11, [&] { body(simd_w, simd_w * group_bytes_); });
        }
        if (done < groups_) body(groups_ - done, bytes_ - done * group_bytes_);
    }

    void multiply_column() {
        mov(rax, rsi);
        mov(rbx, arg(offsetof(args_t, a)));
        if (rows_ > 3) {
            lea(rcx, ptr[rbx + r13]);
            lea(rcx, ptr[rcx + r13 * 2]);
        }
        mov(r12, arg(offsetof(args_t, of_rows)));
        mov(r14, rdx);
        // A short last group makes its chunk differ.
        const bool is_short = bytes_ < groups_ * group_bytes_;
        for_chunks((groups_ - (is_short ? 1 : 0)) / simd_w,
                [&](dim_t groups, dim_t bytes) {
            chunk(bytes);
            for (const Reg64 &at : {r8, r9, r12})
                add(at, static_cast<uint32_t>(groups * 4));
            add(r14, vmm_bytes(args_t::cols));
        });
    }

    void add_rows() {
        // A row has room for a multiple of sixteen groups. Shorter chunks may
        // leave a gap.
        const bool has_gaps = simd_w < args_t::cols;
        const Reg64 &scaled = has_gaps ? rdx : rax;
        mov(scaled, arg(offsetof(args_t, scaled)));
        mov(rcx, arg(offsetof(args_t, c)));
        mov(r8, arg(offsetof(args_t, row_groups)));
        mov(r10, static_cast<uint64_t>(rows_));
        repeat(r10, [&] {
            if (has_gaps) mov(rax, scaled);
            mov(rbx, r8);
            for_chunks(groups_ / simd_w, [&](dim_t groups, dim_t) {
                add_groups(static_cast<int>(groups));
                add(rax, vmm_bytes(args_t::cols));
                add(rbx, static_cast<uint32_t>(simd_w * sizeof(row_group_t)));
            });
            if (has_gaps) add(scaled, scaled_bytes());
            add(rcx, arg(offsetof(args_t, c_pitch)));
            add(r8, arg(offsetof(args_t, row_groups_pitch)));
        });
    }

    // Adds the same groups of all columns to c.
    void add_groups(int groups) {
        // The transposition leaves its results in the last vectors on AVX2.
        constexpr int first = simd_w == 16 ? 0 : simd_w;
        const vmm_t c(simd_w - first), scale(1);
        for (int col = 0; col < args_t::cols; col += simd_w) {
            for (int n = 0; n < simd_w; ++n)
                vmovups(vmm_t(n), ptr[rax + vmm_bytes(col + n)]);
            if (simd_w == 16) transpose_dwords(*this);
            else transpose_dwords_avx2(*this);
            const auto at = rcx + static_cast<size_t>(col) * 4;
            vmovups(c, ptr[at]);
            for (int g = 0; g < groups; ++g) {
                const auto of_row
                        = rbx + offsetof(row_group_t, scale)
                          + static_cast<size_t>(g) * sizeof(row_group_t);
                if (simd_w == 16) {
                    vfmadd231ps(c, vmm_t(first + g), ptr_b[of_row]);
                    continue;
                }
                vbroadcastss(scale, ptr[of_row]);
                vfmadd231ps(c, vmm_t(first + g), scale);
            }
            vmovups(ptr[at], c);
        }
    }
};

} // namespace dnnl_dequant

#endif
