// Scales and zero points of a panel. Where a column's lie side by side, group
// after group, eight columns at a time are made floats as they lie, and
// transposed: of 4096 x 4096 in groups of 128 that takes a tenth of picking
// them one by one.

#include "kernels/matmul/jit_integer_parameters.hpp"

#include <algorithm>

#include "kernels/dequantize/jit_loaders.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t eight = 8, most_groups = 128, beyond = 16;

// Scales or zero points of a panel's columns.
struct source_t {
    stage_t stage;
    const void *base;
    const dim_t *places; // of column 0
    dim_t col_stride, first_col;

    dim_t place(dim_t group, dim_t n) const {
        return places[group] + (first_col + n) * col_stride;
    }

    bool lies_by_column(dim_t groups) const {
        if (col_stride <= 1 || groups == 1) return false;
        for (dim_t g = 1; g < groups; ++g)
            if (places[g] != places[g - 1] + 1) return false;
        return true;
    }
};

// Where eight columns' go: one row a group, `pitch` bytes apart.
struct to_t {
    void *first;
    dim_t pitch;
    bool are_zps;
    int bias;
};

DNNL_DEQUANT_AVX2 inline void put(
        const to_t &to, dim_t group, __m256 values) noexcept {
    auto *at = static_cast<char *>(to.first) + group * to.pitch;
    __m256i bits = _mm256_castps_si256(values);
    if (to.are_zps)
        bits = _mm256_add_epi32(
                _mm256_cvttps_epi32(values), _mm256_set1_epi32(to.bias));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(at), bits);
}

// Eight columns by eight groups, of which the first ones are put.
DNNL_DEQUANT_AVX2 void put_transposed(const float *from, dim_t pitch,
        const to_t &to, dim_t group, dim_t groups) noexcept {
    __m256 a[eight], b[eight];
    for (int i = 0; i < eight; ++i)
        a[i] = _mm256_loadu_ps(from + i * pitch);
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
    for (dim_t i = 0; i < groups; ++i)
        put(to, group + i, b[i]);
}

void load_by_column(
        const source_t &from, dim_t cols, dim_t groups, to_t to) noexcept {
    float staged[eight * most_groups + beyond] = {};
    const bool is_dense = from.col_stride == groups;
    for (dim_t n = 0; n < cols; n += eight) {
        const dim_t count = std::min(eight, cols - n);
        if (is_dense)
            from.stage(staged, from.base, from.place(0, n), 1, count * groups);
        for (dim_t i = 0; !is_dense && i < count; ++i)
            from.stage(staged + i * groups, from.base, from.place(0, n + i), 1,
                    groups);
        for (dim_t g = 0; g < groups; g += eight)
            put_transposed(
                    staged + g, groups, to, g, std::min(eight, groups - g));
        to.first = static_cast<char *>(to.first) + eight * sizeof(float);
    }
}

DNNL_DEQUANT_AVX2 void load_by_group(
        const source_t &from, dim_t cols, dim_t groups, to_t to) noexcept {
    float staged[integer_panel + beyond] = {};
    for (dim_t g = 0; g < groups; ++g) {
        from.stage(staged, from.base, from.place(g, 0), from.col_stride, cols);
        to_t at = to;
        for (dim_t n = 0; n < cols; n += eight) {
            put(at, g, _mm256_loadu_ps(staged + n));
            at.first = static_cast<char *>(at.first) + eight * sizeof(float);
        }
    }
}

void load_all(
        source_t from, dim_t cols, dim_t groups, const to_t &to) noexcept {
    if (!from.lies_by_column(groups)) {
        load_by_group(from, cols, groups, to);
        return;
    }
    for (dim_t g = 0; g < groups; g += most_groups) {
        to_t at = to;
        at.first = static_cast<char *>(to.first) + g * to.pitch;
        load_by_column(from, cols, std::min(most_groups, groups - g), at);
        from.places += most_groups;
    }
}

} // namespace

jit_integer_parameters_t::jit_integer_parameters_t(
        const integer_format_t &format)
    : format_(format)
    , bias_(integer_bias(format))
    , stage_scales_(stage_floats_of(format.scales))
    , stage_zps_(stages_of_zps(format.zps).whole) {}

void jit_integer_parameters_t::load(const integer_parameters_t &from,
        dim_t cols, dim_t groups, integer_columns_t *columns) const noexcept {
    constexpr dim_t pitch = sizeof(integer_columns_t);
    load_all({stage_scales_, from.scales, from.scale_places,
                     format_.scales_stride, from.first_col},
            cols, groups, {columns->scales, pitch, false, 0});
    if (format_.zps != data_type_t::undef)
        load_all({stage_zps_, from.zps, from.zp_places, format_.zps_stride,
                         from.first_col},
                cols, groups, {columns->zps, pitch, true, bias_});
    else
        for (dim_t g = 0; g < groups; ++g)
            std::fill_n(columns[g].zps, integer_panel, bias_);
}

} // namespace dnnl_dequant
