#ifndef KERNELS_MATMUL_NIBBLE_LOOKUP_HPP
#define KERNELS_MATMUL_NIBBLE_LOOKUP_HPP

#include <algorithm>
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

/// Puts a row of src into the order of lookups: where a 32-bit lane holds
/// `vectors` nibbles, vector j of a step gets every `vectors`-th element, from
/// j on. The row is in whole steps.
inline void arrange_for_nibbles(float *row, dim_t depth, dim_t vectors) {
    constexpr dim_t lanes = 16, most_vectors = 8;
    const dim_t step = vectors * lanes;
    float natural[most_vectors * lanes];
    for (dim_t k = 0; k < depth; k += step) {
        std::copy_n(row + k, step, natural);
        for (dim_t j = 0; j < vectors; ++j)
            for (dim_t i = 0; i < lanes; ++i)
                row[k + j * lanes + i] = natural[i * vectors + j];
    }
}

} // namespace dnnl_dequant

#endif
