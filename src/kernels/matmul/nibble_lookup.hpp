#ifndef KERNELS_MATMUL_NIBBLE_LOOKUP_HPP
#define KERNELS_MATMUL_NIBBLE_LOOKUP_HPP

#include <cstring>

#include "kernels/jit/lanes.hpp"
#include "kernels/matmul/gemv.hpp"

namespace dnnl_dequant {

/// A bf16 scale's NaN has nothing below the bits of a bf16, nor has a weight
/// that it was multiplied with.
inline bf16_rounding_t weights_rounding(const gemv_weights_t &weights) {
    return weights.scales.type == data_type_t::bf16 ? bf16_rounding_t::plain
                                                    : bf16_rounding_t::with_nan;
}

/// What each nibble of type u4 or s4 stands for, as f32.
inline jit_generator_t::lanes_t nibble_numbers(data_type_t type) {
    const bool is_signed = family_of(type) == type_family_t::signed_int;
    jit_generator_t::lanes_t lanes;
    for (size_t i = 0; i < lanes.size(); ++i) {
        const int n = static_cast<int>(i);
        const auto value = static_cast<float>(is_signed && n > 7 ? n - 16 : n);
        std::memcpy(&lanes[i], &value, sizeof(value));
    }
    return lanes;
}

/// Generated code for a column's nibbles, on AVX-512: a table of the 16 numbers
/// they are in a group, and the products of what was looked up. As f32 a lane
/// of 32 bits has up to eight nibbles; as bf16 one of 16 bits up to four, and
/// pairs of products are added to a sum in one instruction.
class jit_nibble_lookup_t {
public:
    jit_nibble_lookup_t(jit_generator_t &host, const gemv_weights_t &weights)
        : h_(host)
        , w_(weights) {}

    bool is_bf16() const { return w_.multiplied == data_type_t::bf16; }
    bool has_zps() const { return w_.zps.type != data_type_t::undef; }

    /// @param numbers nibble_numbers()
    void make_table(const Xbyak::Zmm &table, const Xbyak::Zmm &numbers,
            const Xbyak::Address &scale, const Xbyak::Address &zp,
            jit_lanes_t<isa_avx512_core> &lanes, const Xbyak::Zmm &scratch) {
        if (has_zps()) h_.vsubps(table, numbers, zp);
        h_.vmulps(table, has_zps() ? table : numbers, scale);
        if (!is_bf16())
            return lanes.round(
                    table, w_.rounded, weights_rounding(w_), scratch);
        // Once for each value of the bit above the nibble's.
        const Xbyak::Ymm half(table.getIdx());
        h_.vcvtneps2bf16(half, table);
        h_.vinserti64x4(table, table, half, 1);
    }

    /// The j-th number of each lane, or 0 where `mask` (of bf16) leaves it out.
    void look_up(const Xbyak::Xmm &weight, const Xbyak::Xmm &nibbles, int j,
            const Xbyak::Xmm &table, const Xbyak::Opmask *mask = nullptr) {
        const auto bits = static_cast<uint8_t>(4 * j);
        const Xbyak::Xmm &index = j > 0 ? weight : nibbles;
        if (is_bf16()) {
            if (j > 0) h_.vpsrlw(weight, nibbles, bits);
            h_.vpermw(mask ? weight | *mask | Xbyak::util::T_z : weight, index,
                    table);
        } else {
            if (j > 0) h_.vpsrld(weight, nibbles, bits);
            h_.vpermps(Xbyak::Zmm(weight.getIdx()), Xbyak::Zmm(index.getIdx()),
                    table);
        }
    }

    void multiply_add(const Xbyak::Xmm &sum, const Xbyak::Xmm &weight,
            const Xbyak::Xmm &a) {
        if (is_bf16()) h_.vdpbf16ps(sum, weight, a);
        else h_.vfmadd231ps(sum, weight, a);
    }

private:
    jit_generator_t &h_;
    const gemv_weights_t &w_;
};

} // namespace dnnl_dequant

#endif
