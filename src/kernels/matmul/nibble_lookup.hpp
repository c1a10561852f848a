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

/// The numbers that the nibbles of type u4 or s4 stand for, as f32.
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

} // namespace dnnl_dequant

#endif
