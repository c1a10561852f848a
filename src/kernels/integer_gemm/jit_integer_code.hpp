#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_CODE_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_CODE_HPP

#include <cstddef>

#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

/// A tile of up to `most_rows` rows by one panel: integer_kernel_t::multiply().
struct jit_integer_multiply_t {
    jit_function_t<integer_tile_t> code; // advances tile.prefetch, too
    isa_t isa = isa_none;                // that the code is for
    dim_t most_rows = 0;
    /// For every so many k4 blocks of depth it prefetches so many steps of
    /// weights, or none.
    dim_t k4_blocks = 1, steps = 0;
};

/// @param isa AVX2 at least; the best code that it allows is made. Weights stay
///     packed on AVX-512 VNNI only.
result_t make_jit_integer_multiply(const integer_format_t &format, isa_t isa,
        jit_integer_multiply_t &multiply);
result_t make_jit_integer_multiply_avx2(
        const integer_format_t &format, jit_integer_multiply_t &multiply);
result_t make_jit_integer_packed(
        const integer_format_t &format, jit_integer_multiply_t &multiply);
result_t make_jit_integer_amx(
        const integer_format_t &format, jit_integer_multiply_t &multiply);

/// [K,N] weights, four rows at a time: `k4_blocks` times four rows of a whole
/// panel become bytes with the bias added.
struct jit_integer_rows_args_t {
    const void *weights;
    uint8_t *k4_blocks;
    int32_t *sums; // are added to
    dim_t pitch;   // bytes
    dim_t k4_count;
    dim_t ahead; // prefetch distance, bytes
};

/// [N,K] weights: `nr_blocks` times sixteen columns.
struct jit_integer_columns_args_t {
    static constexpr dim_t cols = 16;

    const void *weights;
    uint8_t *k4_blocks;
    int32_t *sums; // are added to
    dim_t pitch;   // bytes
    dim_t bytes;   // of a column; padded with zeros to a whole unit
    dim_t nr_blocks;
};

/// [K,N] nibbles of two whole panels side by side.
struct jit_integer_two_panels_args_t {
    const void *weights;
    uint8_t *k4_blocks[2];
    int32_t *sums[2]; // are added to
    dim_t pitch;      // bytes
    dim_t k4_count;
};

using jit_integer_rows_t = jit_function_t<const jit_integer_rows_args_t>;
using jit_integer_columns_t = jit_function_t<const jit_integer_columns_args_t>;

using jit_integer_two_panels_t
        = jit_function_t<const jit_integer_two_panels_args_t>;

/// For AVX-512 VNNI, or for AVX2 where nothing stays packed.
result_t make_jit_integer_unpack(
        const integer_format_t &format, isa_t isa, jit_integer_rows_t &code);
result_t make_jit_integer_unpack(
        const integer_format_t &format, isa_t isa, jit_integer_columns_t &code);
/// For AVX-512 VBMI.
result_t make_jit_integer_unpack(
        const integer_format_t &format, jit_integer_two_panels_t &code);

/// Returns the bits of stored weights that are flipped, which adds the bias: of
/// a byte, or of both its nibbles.
inline uint8_t flipped_bits(const integer_format_t &format) {
    return static_cast<uint8_t>(
            integer_bias(format) * (format.is_nibble() ? 0x11 : 1));
}

/// The base of all generators that unpack integers or multiply tiles of them.
/// Their argument is at rdi.
class jit_integer_base_t : public jit_simd_t {
protected:
    static constexpr uint32_t line = 64, k4_bytes = integer_panel * k4_depth;

    jit_integer_base_t(const char *name, const integer_format_t &format)
        : jit_simd_t(name)
        , format_(format) {}

    bool is_nibble() const { return format_.is_nibble(); }
    bool is_by_column() const { return format_.is_by_column(); }
    bool has_two_depths() const { return format_.has_two_depths(); }
    bool has_two_columns() const { return format_.has_two_columns(); }
    uint32_t flipped_lane() const {
        return flipped_bits(format_) * 0x01010101u;
    }

    /// Unpacking sums weights and splits nibbles unless they stay packed.
    bool sums() const { return format_.has_src_zps && !format_.is_packed; }
    bool splits() const { return is_nibble() && !format_.is_packed; }

    /// Return the bytes of so many vectors.
    static constexpr uint32_t zmm_bytes(int count) {
        return static_cast<uint32_t>(count) * 64;
    }
    static constexpr uint32_t ymm_bytes(int count) {
        return static_cast<uint32_t>(count) * 32;
    }

    /// Runs the body once for every whole `step` of `left`. Afterwards `left`
    /// is the rest less `step`.
    template <typename body_t>
    void repeat_steps(const Reg64 &left, uint32_t step, bool is_aligned,
            const body_t &body) {
        Label l_loop, l_rest;
        sub(left, step);
        jl(l_rest, T_NEAR);
        if (is_aligned) align(32);
        L(l_loop);
        body();
        sub(left, step);
        jge(l_loop, T_NEAR);
        L(l_rest);
    }

    /// Loads indices of vpermt2d: `lanes`, and each of them `apart` lanes
    /// later.
    void load_indices(const Zmm &first, const Zmm &second, lanes_t lanes,
            uint32_t apart) {
        vmovups(first, constant(lanes));
        for (uint32_t &lane : lanes)
            lane += apart;
        vmovups(second, constant(lanes));
    }
    /// Loads the indices that interleave the dwords of two vectors: first their
    /// lower halves, then their upper halves.
    void load_interleaving(const Zmm &first, const Zmm &second) {
        lanes_t lanes;
        for (uint32_t i = 0; i < 16; ++i)
            lanes[i] = i / 2 + i % 2 * 16;
        load_indices(first, second, lanes, 8);
    }

    /// Splits bytes into their nibbles: the lower ones stay in `low`.
    void split(const Vmm &low, const Vmm &high, const Operand &mask) {
        vpsrlw(high, low, 4);
        bit_and(low, low, mask);
        bit_and(high, high, mask);
    }
    /// Does the same and adds the bias. Only AVX-512 has it.
    void split_and_flip(const Vmm &low, const Vmm &high, const Zmm &mask,
            const Zmm &flipped) {
        constexpr uint8_t masked_and_flipped = 0x6a; // (low & mask) ^ flipped
        vpsrld(high, low, 4);
        vpternlogd(low, mask, flipped, masked_and_flipped);
        vpternlogd(high, mask, flipped, masked_and_flipped);
    }
    void flip(const Vmm &x) {
        if (flipped_lane() != 0) bit_xor(x, x, constant(flipped_lane()));
    }

    const integer_format_t format_;
};

} // namespace dnnl_dequant

#endif
