// Scales and zero points of a panel. Where the groups of a column are
// contiguous, eight columns at a time are staged as they lie, and transposed:
// for 4096 x 4096 in groups of 128 that takes a tenth of the time of a gather.

#include <algorithm>
#include <cstring>

#include "kernels/dequantize/jit_loaders.hpp"
#include "kernels/dequantize/jit_params.hpp"
#include "kernels/matmul/jit_integer_code.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t eight = 8, most_groups = 128, beyond = 16,
                pitch = sizeof(integer_columns_t) / sizeof(float);

// Scales or zero points of a panel's columns.
struct source_t {
    stage_t stage;
    const void *base;
    const dim_t *places; // of column 0
    dim_t col_stride, first_col, cols;

    dim_t place(dim_t group, dim_t n) const {
        return places[group] + (first_col + n) * col_stride;
    }
    bool has_contiguous_groups(dim_t groups) const {
        if (col_stride <= 1 || groups == 1) return false;
        for (dim_t g = 1; g < groups; ++g)
            if (places[g] != places[g - 1] + 1) return false;
        return true;
    }
};

// Eight columns by eight groups, of which the first `rows` are stored.
DNNL_DEQUANT_AVX2 void transpose(
        const float *from, dim_t groups, float *to, dim_t rows) noexcept {
    __m256 a[eight], b[eight];
    for (int i = 0; i < eight; ++i)
        a[i] = _mm256_loadu_ps(from + i * groups);
    for (int i = 0; i < eight; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < eight; i += 4)
        for (int j = 0; j < 2; ++j) {
            a[i + 2 * j] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0x44);
            a[i + 2 * j + 1] = _mm256_shuffle_ps(b[i + j], b[i + j + 2], 0xee);
        }
    for (int i = 0; i < 4; ++i) {
        b[i] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
        b[i + 4] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
    }
    for (dim_t i = 0; i < rows; ++i)
        _mm256_storeu_ps(to + i * pitch, b[i]);
}

void load_transposed(const source_t &from, dim_t groups, float *to) noexcept {
    float staged[eight * most_groups + beyond] = {};
    const bool is_dense = from.col_stride == groups;
    for (dim_t n = 0; n < from.cols; n += eight) {
        const dim_t count = std::min(eight, from.cols - n);
        if (is_dense)
            from.stage(staged, from.base, from.place(0, n), 1, count * groups);
        for (dim_t i = 0; !is_dense && i < count; ++i)
            from.stage(staged + i * groups, from.base, from.place(0, n + i), 1,
                    groups);
        for (dim_t g = 0; g < groups; g += eight)
            transpose(staged + g, groups, to + g * pitch + n,
                    std::min(eight, groups - g));
    }
}

void load(source_t from, dim_t groups, void *first) noexcept {
    auto *to = static_cast<float *>(first);
    if (from.has_contiguous_groups(groups)) {
        for (dim_t g = 0; g < groups; g += most_groups) {
            load_transposed(
                    from, std::min(most_groups, groups - g), to + g * pitch);
            from.places += most_groups;
        }
        return;
    }
    float staged[integer_panel + beyond] = {};
    for (dim_t g = 0; g < groups; ++g) {
        from.stage(staged, from.base, from.place(g, 0), from.col_stride,
                from.cols);
        std::memcpy(to + g * pitch, staged, integer_panel * sizeof(float));
    }
}

// Loaded as f32.
DNNL_DEQUANT_AVX2 void make_zps(
        integer_columns_t &columns, dim_t cols, int bias) noexcept {
    for (dim_t n = 0; n < cols; n += eight) {
        auto *at = reinterpret_cast<__m256i *>(columns.zps + n);
        const __m256 zps = _mm256_castsi256_ps(_mm256_loadu_si256(at));
        _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_cvttps_epi32(zps),
                                        _mm256_set1_epi32(bias)));
    }
}

} // namespace

void load_integer_columns(const integer_format_t &format,
        const integer_parameters_t &from, dim_t cols, dim_t groups,
        integer_columns_t *columns) noexcept {
    load({stage_floats_of(format.scales), from.scales, from.scale_places,
                 format.scales_stride, from.first_col, cols},
            groups, columns->scales);
    const int bias = integer_bias(format);
    const bool has_zps = format.zps != data_type_t::undef;
    if (has_zps)
        load({stages_of_zps(format.zps).whole, from.zps, from.zp_places,
                     format.zps_stride, from.first_col, cols},
                groups, columns->zps);
    for (dim_t g = 0; g < groups; ++g)
        if (has_zps) make_zps(columns[g], cols, bias);
        else std::fill_n(columns[g].zps, integer_panel, bias);
}

} // namespace dnnl_dequant
