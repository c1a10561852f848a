#ifndef KERNELS_MATMUL_JIT_INTEGER_DOT_AVX2_HPP
#define KERNELS_MATMUL_JIT_INTEGER_DOT_AVX2_HPP

#include "kernels/matmul/jit_integer_dot_frame.hpp"

namespace dnnl_dequant {

/// The base reads weights by column on AVX2, and transposes what is scaled.
/// Without AVX-VNNI weights are biased so that they have no sign, whatever src
/// has.
class jit_integer_dot_avx2_base_t : public jit_integer_dot_frame_t {
protected:
    static constexpr int simd_w = 8;
    static constexpr dim_t vector_bytes = 32;

    jit_integer_dot_avx2_base_t(
            const integer_stream_weights_t &weights, int rows, bool has_vnni);

    /// Into the vectors that hold them, the last four.
    void load_constants();
    /// As they are stored, but biased.
    void load_weights(const Xbyak::Ymm &to, const Xbyak::Address &from);
    /// The same of fewer bytes than a vector has; then zeros. By way of two.
    void load_few_weights(const Xbyak::Ymm &to, const Xbyak::Ymm &half,
            const Xbyak::Ymm &rest, const Xbyak::RegExp &from, dim_t bytes);
    /// Lower halves of bytes stay in `low`.
    void part(const Xbyak::Ymm &low, const Xbyak::Ymm &high);
    /// The first eight vectors, of eight dwords each, become the last.
    void transpose_eights();

    const bool has_vnni_;
    // One in each byte or, without VNNI, in each pair.
    const Xbyak::Ymm mask_ {12}, ones_ {13}, flipped_ {14}, zero_ {15};

private:
    void load_half(const Xbyak::Xmm &to, const Xbyak::Xmm &rest,
            const Xbyak::RegExp &from, dim_t bytes);
    void load_power(
            const Xbyak::Xmm &to, const Xbyak::RegExp &from, dim_t bytes);
};

} // namespace dnnl_dequant

#endif
