#ifndef KERNELS_SKINNY_GEMM_SCALED_SUMS_HPP
#define KERNELS_SKINNY_GEMM_SCALED_SUMS_HPP

#include <algorithm>
#include <cmath>

#include "base/bits.hpp"
#include "base/convert.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

/// Returns the bits of the largest magnitude. The compiler vectorizes this
/// loop, as it would not one of floats.
inline int32_t greatest_magnitude(const float *values, dim_t count) noexcept {
    constexpr uint32_t no_sign = 0x7fffffff;
    int32_t greatest = 0;
    for (dim_t i = 0; i < count; ++i) {
        const uint32_t size = bits_of_f32(values[i]) & no_sign;
        greatest = std::max(greatest, static_cast<int32_t>(size));
    }
    return greatest;
}

inline bool are_finite(const float *values, dim_t count) noexcept {
    constexpr int32_t infinity = 0x7f800000;
    return greatest_magnitude(values, count) < infinity;
}

/// Sums of src and weights that are scaled first, computed one by one: those
/// that kernels cannot make, or not exactly. This is slow, but rare.
///
/// `src` is a function that returns an element of a row of src.
class scaled_sums_t {
public:
    /// @param buffers The buffers of the weights' problem.
    scaled_sums_t(const skinny_weights_t &weights, void *const *buffers)
        : weights_(weights)
        , buffers_(buffers) {}

    template <typename src_t>
    float sum(dim_t column, const src_t &src) const noexcept {
        const skinny_weights_t &w = weights_;
        float sum = 0, scale = 0;
        int64_t zp = 0;
        for (dim_t k = 0; k < w.depth; ++k) {
            if (k % w.group == 0) {
                scale = scale_of(k / w.group, column);
                if (has_zps())
                    zp = load_int(w.zps.type, buffers_[w.zps.operand],
                            place_of(w.zps, k / w.group, column));
            }
            const float weight = rounded(number(k, column, zp) * scale);
            sum = std::fma(weight, src(k), sum);
        }
        return sum;
    }

    /// Computes the sums of a row that are not finite again. Src is finite.
    template <typename src_t>
    void redo(float *sums, dim_t first_col, dim_t cols,
            const src_t &src) const noexcept {
        for (dim_t n = 0; n < cols; ++n)
            if (!std::isfinite(sums[n]) && !has_nan_scale(first_col + n))
                sums[n] = sum(first_col + n, src);
    }

private:
    bool has_zps() const { return weights_.zps.type != data_type_t::undef; }
    dim_t place_of(const skinny_parameters_t &parameters, dim_t group,
            dim_t column) const {
        return group * parameters.group_stride
               + column / weights_.col_group * parameters.column_stride;
    }
    float scale_of(dim_t group, dim_t column) const noexcept {
        const skinny_parameters_t &scales = weights_.scales;
        return load_f32(scales.type, buffers_[scales.operand],
                place_of(scales, group, column));
    }
    // A weight less its zero point.
    float number(dim_t k, dim_t column, int64_t zp) const noexcept;
    float rounded(float weight) const noexcept;
    bool has_nan_scale(dim_t column) const noexcept;

    const skinny_weights_t &weights_;
    void *const *const buffers_;
};

} // namespace dnnl_dequant

#endif
