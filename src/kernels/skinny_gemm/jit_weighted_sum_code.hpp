#ifndef KERNELS_SKINNY_GEMM_JIT_WEIGHTED_SUM_CODE_HPP
#define KERNELS_SKINNY_GEMM_JIT_WEIGHTED_SUM_CODE_HPP

#include <algorithm>

#include "kernels/jit/generator.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

/// Adds the products of some rows of weights by the values of some tokens, as
/// weighted_sum_t::run() says.
using jit_weighted_sum_code_t = jit_function_t<const weighted_sum_t::block_t>;

/// The most rows of weights, and the most sums, of one generated function.
template <isa_t isa>
constexpr dim_t weighted_sum_code_rows
        = isa == isa_avx512_core ? weighted_sum_t::most_rows : 4;
template <isa_t isa>
constexpr int weighted_sum_code_sums = isa == isa_avx512_core ? 24 : 8;

/// Returns true if groups are no whole vectors, or 4-bit groups no pairs of
/// them: each lane has a scale of its own then.
template <isa_t isa>
bool weighted_sum_scales_lanes(const weighted_values_t &values) {
    constexpr dim_t lanes = jit_isa_t<isa>::simd_w;
    const dim_t group = values.group_cols;
    if (group == 0) return false;
    if (bits_of(values.type) > 4) return group % lanes != 0;
    return group % (2 * lanes) != 0;
}

/// Returns the vectors of columns that are summed together; 0 if none fit.
template <isa_t isa>
int weighted_sum_vectors(const weighted_values_t &values, dim_t rows) {
    constexpr int most = 8;
    const bool are_nibbles = bits_of(values.type) <= 4;
    const int fewest = are_nibbles ? 2 : 1;
    // A lane has a nibble of each vector, which share a scale.
    const dim_t unit = are_nibbles && weighted_sum_scales_lanes<isa>(values)
                               ? values.group_cols
                               : most;
    for (int vectors = most; vectors >= fewest;
            vectors = are_nibbles ? vectors / 2 : vectors - 1)
        if (rows * vectors <= weighted_sum_code_sums<isa>
                && values.cols % (vectors * jit_isa_t<isa>::simd_w) == 0
                && (!are_nibbles || unit % vectors == 0))
            return vectors;
    return 0;
}

/// Returns how many of those vectors 4-bit numbers become at once: all, or the
/// largest power of two that divides a group. Their sums have the order of
/// join_columns().
template <isa_t isa>
int weighted_sum_group_vectors(const weighted_values_t &values, dim_t rows) {
    const int vectors = weighted_sum_vectors<isa>(values, rows);
    const auto group
            = static_cast<int>(values.group_cols / jit_isa_t<isa>::simd_w);
    return group == 0 || weighted_sum_scales_lanes<isa>(values)
                   ? vectors
                   : std::min(vectors, group & -group);
}

/// Generates the code for one of isa_avx512_core and isa_avx2.
template <isa_t isa>
result_t make_jit_weighted_sum_code(const weighted_values_t &values, int rows,
        jit_weighted_sum_code_t &code);

} // namespace dnnl_dequant

#endif
