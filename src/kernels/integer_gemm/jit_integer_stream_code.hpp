#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_STREAM_CODE_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_STREAM_CODE_HPP

#include "kernels/integer_gemm/integer_stream.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// The base of every generator of a skinny integer GEMM.
class jit_integer_stream_base_t : public jit_generator_t {
public:
    bool is_nibble() const { return bits_of(w_.format.weights) == 4; }
    bool is_src_signed() const { return w_.is_src_signed; }
    /// Returns the stored bits that are flipped, which adds the bias.
    uint32_t flipped_bits() const;

protected:
    /// @param bias The number added to the weights' integers.
    jit_integer_stream_base_t(const char *name,
            const integer_stream_weights_t &weights, int bias);

    bool has_src_zps() const { return w_.format.has_src_zps; }
    bool has_zps() const {
        return w_.format.zps != data_type_t::undef || bias_ != 0;
    }

    Xbyak::Address arg(size_t offset) { return qword[rdi + offset]; }
    /// Converts zero points from f32 to integers and adds the bias.
    void load_zps(const Xbyak::Xmm &zps, const Xbyak::Address &from);

    const integer_stream_weights_t w_;
    const int bias_;
};

/// Turns weights in a register into bytes with the bias, and multiplies them.
/// AVX-512 with VNNI only.
class jit_integer_stream_vnni_t {
public:
    explicit jit_integer_stream_vnni_t(jit_integer_stream_base_t &host)
        : h_(host) {}

    /// Loads constants into the last two vectors.
    void load_constants();
    /// Splits nibbles; the lower ones stay in `low`.
    void make_bytes(const Xbyak::Zmm &low, const Xbyak::Zmm &high);
    void multiply(const Xbyak::Zmm &sums, const Xbyak::Zmm &weights,
            const Xbyak::Zmm &src);

private:
    jit_integer_stream_base_t &h_;
    const Xbyak::Zmm mask_ {31}, flipped_ {30};
};

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
    // Prefetch distances in bytes: within a chunk, and from its last panels to
    // the first panels of the next chunk.
    dim_t ahead, ahead_last, last_panels;
    dim_t continues, ends; // a group's sums: begun before, scaled here
};

using jit_integer_n_lanes_t = jit_function_t<const jit_integer_n_lanes_args_t>;

result_t make_jit_integer_n_lanes(const integer_stream_weights_t &weights,
        int rows, jit_integer_n_lanes_t &code);
result_t make_jit_integer_n_lanes_avx2(const integer_stream_weights_t &weights,
        int rows, jit_integer_n_lanes_t &code);

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
/// @param has_vnni Whether the code uses AVX-VNNI.
result_t make_jit_integer_k_lanes_avx2(const integer_stream_weights_t &weights,
        int rows, bool has_vnni, jit_integer_k_lanes_t &code);

} // namespace dnnl_dequant

#endif
