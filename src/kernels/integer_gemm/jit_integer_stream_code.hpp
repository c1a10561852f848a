#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_STREAM_CODE_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_STREAM_CODE_HPP

#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

/// The base of every generator of a skinny integer GEMM. The arguments are at
/// rdi, rows of src at rbx, and their pitch is r13. With four rows, rcx is the
/// fourth.
///
/// A multiplication of bytes takes one signed and one unsigned factor. src is
/// taken as it is. integer_bias() makes weights unsigned; nibbles then fit both
/// kinds. VNNI multiplies whole bytes, which are signed if src is not. Without
/// it bytes are multiplied by their nibbles.
class jit_integer_stream_base_t : public jit_simd_t {
public:
    /// @param rows The rows of src that are multiplied at once.
    jit_integer_stream_base_t(const char *name,
            const integer_stream_weights_t &weights, isa_t isa, int rows)
        : jit_simd_t(name)
        , w_(weights)
        , rows_(rows)
        , has_vnni_(has(isa, isa_vnni))
        , bias_(integer_bias(weights.format)
                  - (has_vnni_ && !is_nibble() && !weights.is_src_signed ? 128
                                                                         : 0))
        , vmm_bytes_(has(isa, isa_avx512_core_vnni) ? 64 : 32) {}

protected:
    static constexpr int line = 64;

    bool is_nibble() const { return bits_of(w_.format.weights) == 4; }
    bool has_src_zps() const { return w_.format.has_src_zps; }
    bool has_zps() const {
        return w_.format.zps != data_type_t::undef || bias_ != 0;
    }
    /// Returns the sets of sums: one for each row, and one for the weights if
    /// they are summed.
    int sets() const { return rows_ + (has_src_zps() ? 1 : 0); }
    /// Returns the stored bits that are flipped, which adds the bias.
    uint32_t flipped_bits() const {
        if (bias_ == 0) return 0;
        return is_nibble() ? 0x88888888u : 0x80808080u;
    }

    uint32_t vmm_bytes(int vectors) const {
        return static_cast<uint32_t>(vectors) * vmm_bytes_;
    }
    RegExp row_of_a(int row) const {
        const RegExp base = row < 3 ? rbx : rcx;
        return row % 3 == 0 ? base : base + r13 * (row % 3);
    }

    /// Converts zero points from f32 to integers and adds the bias.
    void load_zps(const Vmm &zps, const Address &from) {
        vcvtps2dq(zps, from);
        if (bias_ == 0) return;
        vpaddd(zps, zps, constant(static_cast<uint32_t>(bias_)));
    }

    /// Multiplies bytes by VNNI. One of the factors is signed.
    void dot(const Vmm &sums, const Vmm &weights, const Vmm &src) {
        if (w_.is_src_signed) dot4(sums, weights, src);
        else dot4(sums, src, weights);
    }

    /// Turns weights into bytes with the bias. It splits nibbles; the lower
    /// ones stay in `low`. Only AVX-512 has it.
    void make_bytes(const Zmm &low, const Zmm &high) {
        constexpr uint8_t masked_and_flipped = 0x6a; // (low & mask) ^ flipped
        if (!is_nibble()) {
            if (bias_ != 0) vpxord(low, low, flipped_bytes_);
            return;
        }
        vpsrlw(high, low, 4);
        for (const Zmm &x : {low, high})
            if (bias_ == 0) vpandd(x, x, nibbles_);
            else vpternlogd(x, nibbles_, flipped_bytes_, masked_and_flipped);
    }
    /// Loads the constants of make_bytes() into the last two vectors.
    void load_byte_constants() {
        vmovups(nibbles_, constant(0x0f0f0f0fu));
        vmovups(flipped_bytes_,
                constant(flipped_bits() & (is_nibble() ? 0x0f0f0f0fu : ~0u)));
    }

    const integer_stream_weights_t w_;
    const int rows_;
    const bool has_vnni_;
    const int bias_; // is added to the weights' integers and zero points
    const uint32_t vmm_bytes_;

private:
    const Zmm nibbles_ {31}, flipped_bytes_ {30};
};

} // namespace dnnl_dequant

#endif
