#ifndef KERNELS_QUANTIZE_JIT_ROW_PARAMETERS_HPP
#define KERNELS_QUANTIZE_JIT_ROW_PARAMETERS_HPP

#include "base/data_type.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Scales and zero points of rows, as row kernels of quantize want them, and
/// what stands in the way of the fast one.
struct row_parameters_t {
    static constexpr dim_t most_rows = 256;

    alignas(64) float scales[most_rows], reciprocals[most_rows];
    alignas(64) int zps[most_rows];
    alignas(64) float above[most_rows], below[most_rows]; // the ranges
    // See jit_row_factors.hpp.
    alignas(64) float factors[most_rows], sums[most_rows];
    bool has_nan = false; // ranges are of no use
    // A scale that is not ordinary, see stage_divisors_of().
    bool is_odd = false;
};

/// Sixteen rows at once; the formulas are those of range_parameters_t. The
/// machine has AVX-512. `above` and `below` have room for whole sixteens.
///
/// src           the type whose bits jit_range_bits.hpp has found; `below` is
///               null if `above` has magnitudes
/// has_zps       zero points of u8 or, unless is_u8, of s8
/// scales, zps   what the caller gets; zps null where there are none
struct row_ranges_t {
    data_type_t src;
    bool has_zps, is_u8;
    const float *above, *below;
    dim_t rows;
};
void make_row_parameters(const row_ranges_t &ranges, row_parameters_t &made,
        float *scales, void *zps);

} // namespace dnnl_dequant

#endif
