#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_K_LANES_AVX2_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_K_LANES_AVX2_HPP

#include "kernels/integer_gemm/jit_integer_k_lanes_frame.hpp"

namespace dnnl_dequant {

/// The base for [N,K] weights on AVX2. It reads weights and transposes scaled
/// sums. Without AVX-VNNI the bias always makes weights unsigned, whether src
/// is or not.
class jit_integer_k_lanes_avx2_base_t : public jit_integer_k_lanes_frame_t {
protected:
    static constexpr int simd_w = 8;
    static constexpr dim_t vector_bytes = 32;

    jit_integer_k_lanes_avx2_base_t(
            const integer_stream_weights_t &weights, int rows, bool has_vnni);

    /// Loads constants into the last four vectors.
    void load_constants();
    /// Loads weights as they are stored, and adds the bias.
    void load_weights(const Xbyak::Ymm &to, const Xbyak::Address &from);
    /// The same for fewer bytes than a vector has. The rest is zeros; two
    /// vectors are scratch.
    void load_few_weights(const Xbyak::Ymm &to, const Xbyak::Ymm &half,
            const Xbyak::Ymm &rest, const Xbyak::RegExp &from, dim_t bytes);
    /// Splits bytes into nibbles; the lower halves stay in `low`.
    void part(const Xbyak::Ymm &low, const Xbyak::Ymm &high);
    /// Transposes the first eight vectors, of eight dwords each, into the last
    /// eight.
    void transpose_eights();

    const bool has_vnni_;
    // The ones are in each byte or, without VNNI, in each pair.
    const Xbyak::Ymm mask_ {12}, ones_ {13}, flipped_ {14}, zero_ {15};

private:
    void load_half(const Xbyak::Xmm &to, const Xbyak::Xmm &rest,
            const Xbyak::RegExp &from, dim_t bytes);
    void load_power(
            const Xbyak::Xmm &to, const Xbyak::RegExp &from, dim_t bytes);
};

} // namespace dnnl_dequant

#endif
