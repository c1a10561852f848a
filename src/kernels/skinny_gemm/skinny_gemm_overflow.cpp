// A group's f32 sum may overflow before it is scaled, or a scale that a unit of
// weights multiplies, though the product of scaled weights is finite. This file
// recomputes such sums.

#include <algorithm>
#include <cmath>

#include "base/bits.hpp"
#include "base/convert.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"

namespace dnnl_dequant {

namespace {

// The compiler vectorizes this loop, as it would not one of floats.
bool are_finite(const float *values, dim_t count) {
    constexpr uint32_t no_sign = 0x7fffffff;
    constexpr int32_t infinity = 0x7f800000;
    int32_t greatest = 0;
    for (dim_t i = 0; i < count; ++i) {
        const uint32_t size = bits_of_f32(values[i]) & no_sign;
        greatest = std::max(greatest, static_cast<int32_t>(size));
    }
    return greatest < infinity;
}

float rounded_to(data_type_t type, float value) {
    float rounded = 0;
    store_f32(type, &rounded, 0, value);
    return load_f32(type, &rounded, 0);
}

} // namespace

bool skinny_gemm_t::has_nan_scale(
        void *const *buffers, dim_t column) const noexcept {
    const skinny_parameters_t &scales = weights_.scales;
    const dim_t first = column / weights_.col_group * scales.column_stride;
    for (dim_t g = 0; g < weights_.groups(); ++g)
        if (std::isnan(load_f32(scales.type, buffers[scales.operand],
                    first + g * scales.group_stride)))
            return true;
    return false;
}

float skinny_gemm_t::sum_of_scaled(void *const *buffers, const block_t &block,
        dim_t row, const dim_t *places, dim_t column) const noexcept {
    const skinny_weights_t &w = weights_;
    const auto parameter = [&](const skinny_parameters_t &p, dim_t group) {
        return load_f32(p.type, buffers[p.operand],
                group * p.group_stride
                        + column / w.col_group * p.column_stride);
    };
    float sum = 0, scale = 0, zp = 0;
    const float row_scale = block.row_scales ? block.row_scales[row] : 1;
    for (dim_t k = 0; k < w.depth; ++k) {
        if (k % w.group == 0) {
            scale = parameter(w.scales, k / w.group);
            if (w.zps.type != data_type_t::undef)
                zp = parameter(w.zps, k / w.group);
        }
        const dim_t element
                = w.by_column ? column * w.pitch + k : k * w.pitch + column;
        const float weight = rounded_to(w.rounded,
                (load_f32(w.type, buffers[0], element) - zp) * scale);
        sum = std::fma(weight,
                src_element(block, row, places ? places[k] : k) * row_scale,
                sum);
    }
    return sum;
}

void skinny_gemm_t::scale_rows(const block_t &block) noexcept {
    if (!block.row_scales) return;
    for (dim_t r = 0; r < block.rows; ++r) {
        const float scale = block.row_scales[r];
        float *const c = block.c + r * block.c_pitch;
        for (dim_t n = 0; n < block.cols; ++n)
            c[n] *= scale;
    }
}

void skinny_gemm_t::redo_overflow(void *const *buffers, const block_t &block,
        const dim_t *places) const noexcept {
    if (!scales_sums()) return;
    for (dim_t r = 0; r < block.rows; ++r) {
        float *const c = block.c + r * block.c_pitch;
        if (are_finite(c, block.cols)) continue;
        // If src is not finite, neither is its sum, in whatever way it is
        // computed.
        bool is_finite
                = !block.row_scales || std::isfinite(block.row_scales[r]);
        for (dim_t k = 0; k < weights_.depth && is_finite; ++k)
            is_finite = std::isfinite(src_element(block, r, k));
        for (dim_t n = 0; n < block.cols && is_finite; ++n)
            if (!std::isfinite(c[n])
                    && !has_nan_scale(buffers, block.first_col + n))
                c[n] = sum_of_scaled(
                        buffers, block, r, places, block.first_col + n);
    }
}

std::vector<dim_t> skinny_gemm_t::places_of_src() const {
    const dim_t unit = src_unit(), depth = weights_.depth;
    if (unit == 1 || packs_src() || src_type() != data_type_t::f32) return {};
    // Elements are numbered from 1, because zeros fill the last unit.
    std::vector<float> row(static_cast<size_t>(round_up(depth, unit)));
    for (dim_t k = 0; k < depth; ++k)
        row[static_cast<size_t>(k)] = static_cast<float>(k + 1);
    arrange(row.data());
    std::vector<dim_t> places(static_cast<size_t>(depth));
    for (size_t at = 0; at < row.size(); ++at)
        if (row[at] > 0)
            places[static_cast<size_t>(row[at]) - 1] = static_cast<dim_t>(at);
    return places;
}

} // namespace dnnl_dequant
