#ifndef KERNELS_SKINNY_GEMM_AVX_NIBBLES_IN_PLACE_HPP
#define KERNELS_SKINNY_GEMM_AVX_NIBBLES_IN_PLACE_HPP

#include "base/types.hpp"

namespace dnnl_dequant {

/// Columns of nibbles that are multiplied where they lie, on AVX2 with K lanes.
/// A lane of 32 bits has eight nibbles. The upper four are shifted down first,
/// so that nibble v is an integer times 16^(v % 4). Src is scaled and divided
/// by that number, and zero points are multiplied by it.
///
/// Src and parameters of whole lines of 128 nibbles are in the order of steps:
/// eight vectors, of which the v-th has the v-th element of each lane. Behind
/// the last whole line steps have two vectors.
struct nibbles_in_place_t {
    static constexpr int vectors = 8, vectors_behind_lines = 2, places = 4,
                         bits = 4;
    static constexpr dim_t lanes = 8, line = 128;

    /// Returns the bit of nibble v, once the upper ones are shifted down.
    static constexpr int bit_of(int v) { return v % places * bits; }

    /// Arranges a row of src.
    static void arrange(float *src, dim_t depth) noexcept;
    static void arrange_scales(
            const float *from, dim_t depth, float *to) noexcept;
    /// Arranges zero points plus a bias, multiplied by the values of places.
    static void arrange_zps(
            const float *from, dim_t depth, float bias, float *to) noexcept;
    /// Computes to = src * scales / the values of places. The product is not
    /// finite only if src * scales is not; it may be subnormal.
    static void scale_src(const float *src, const float *scales, dim_t depth,
            float *to) noexcept;
};

} // namespace dnnl_dequant

#endif
