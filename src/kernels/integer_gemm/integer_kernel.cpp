// This plain C++ kernel defines what a product of integers is.

#include "kernels/integer_gemm/integer_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/convert.hpp"

namespace dnnl_dequant {

namespace {

class ref_integer_t : public integer_kernel_t {
public:
    explicit ref_integer_t(const integer_format_t &format)
        : format_(format)
        , bias_(integer_bias(format)) {}

    const char *name() const override { return "ref_integer_matmul"; }

    void unpack(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept override {
        uint8_t *k4_blocks = group.k4_blocks + weights.begin * integer_panel;
        std::fill_n(k4_blocks,
                whole_units(format_, weights.depth) * integer_panel,
                uint8_t(0));
        for (dim_t k = 0; k < weights.depth; ++k)
            for (dim_t n = 0; n < weights.cols; ++n) {
                const dim_t element = weights.first + k * format_.depth_stride
                                      + n * format_.col_stride;
                const auto value = static_cast<int32_t>(
                        load_int(format_.weights, weights.base, element)
                        + bias_);
                k4_blocks[place_in_panel(place_in_group(format_, k), n)]
                        = static_cast<uint8_t>(value);
                group.columns->sums[n] += value;
            }
    }

    void load_parameters(const integer_parameters_t &from, dim_t cols,
            dim_t groups, integer_columns_t *columns) const noexcept override {
        for (dim_t g = 0; g < groups; ++g)
            for (dim_t n = 0; n < cols; ++n) {
                const dim_t col = from.first_col + n;
                columns[g].scales[n] = load_f32(format_.scales, from.scales,
                        from.scale_places[g] + col * format_.scales_stride);
                columns[g].zps[n] = bias_ + zp_of(from, g, col);
            }
    }

    void multiply(const integer_tile_t &tile) const noexcept override {
        for (dim_t g = 0; g < tile.group_count; ++g)
            for (dim_t r = 0; r < tile.rows; ++r)
                multiply_row(tile, r, g);
    }

private:
    static dim_t place_in_panel(dim_t k, dim_t n) {
        return (k / k4_depth * integer_panel + n) * k4_depth + k % k4_depth;
    }

    int32_t zp_of(const integer_parameters_t &from, dim_t g, dim_t col) const {
        if (format_.zps == data_type_t::undef) return 0;
        return static_cast<int32_t>(load_int(format_.zps, from.zps,
                from.zp_places[g] + col * format_.zps_stride));
    }

    static uint32_t product(int32_t a, int32_t b) {
        return static_cast<uint32_t>(a) * static_cast<uint32_t>(b);
    }

    // The sum is computed modulo 2^32. The terms need not fit; the sum does.
    static uint32_t sum_of_products(const int8_t *a, dim_t a_k4_pitch,
            const integer_group_t &b, dim_t n) {
        uint32_t sum = 0;
        for (dim_t k = 0; k < b.k4_count * k4_depth; ++k)
            sum += product(a[k / k4_depth * a_k4_pitch + k % k4_depth],
                    b.k4_blocks[place_in_panel(k, n)]);
        return sum;
    }
    static uint32_t bits_of_sum(float sum) {
        uint32_t bits;
        std::memcpy(&bits, &sum, sizeof(bits));
        return bits;
    }

    static void multiply_row(const integer_tile_t &tile, dim_t r, dim_t g) {
        const integer_group_t &b = tile.groups[g];
        const int8_t *a = tile.a + r * tile.a_pitch
                          + b.place / k4_depth * tile.a_k4_pitch;
        const auto &row = tile.row_groups[r * tile.row_groups_pitch + g];
        float *c = tile.c + r * tile.c_pitch;
        const bool accumulates = !tile.continues && (tile.accumulates || g > 0);
        for (dim_t n = 0; n < integer_panel; ++n) {
            uint32_t sum = sum_of_products(a, tile.a_k4_pitch, b, n);
            if (tile.continues) sum += bits_of_sum(c[n]);
            if (!tile.ends) {
                std::memcpy(c + n, &sum, sizeof(sum));
                continue;
            }
            sum -= product(row.zp, b.columns->sums[n])
                   + product(b.columns->zps[n], row.sum);
            const float scaled = static_cast<float>(static_cast<int32_t>(sum))
                                 * b.columns->scales[n];
            c[n] = std::fma(scaled, row.scale, accumulates ? c[n] : 0.f);
        }
    }

    const integer_format_t format_;
    const int bias_;
};

} // namespace

int integer_bias(const integer_format_t &format) {
    switch (format.weights) {
    case data_type_t::s4: return 8;
    case data_type_t::s8: return 128;
    default: return 0;
    }
}

dim_t integer_unit(const integer_format_t &format) {
    return format.has_two_depths() ? 2 * k4_depth : k4_depth;
}

dim_t whole_units(const integer_format_t &format, dim_t depth) {
    const dim_t unit
            = std::max(integer_unit(format), k4_depth * format.k4_chunk);
    return round_up(depth, unit);
}

dim_t place_in_group(const integer_format_t &format, dim_t k) {
    if (!format.has_two_depths()) return k;
    return k / 8 * 8 + k % 2 * 4 + k % 8 / 2;
}

row_group_t make_row_group(int32_t zp, int32_t sum, float scale) {
    return {zp, sum, scale, static_cast<int16_t>(zp),
            static_cast<int16_t>(sum)};
}

std::shared_ptr<const integer_kernel_t> make_ref_integer_kernel(
        const integer_format_t &format) {
    return std::make_shared<ref_integer_t>(format);
}

result_t make_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel) {
    // If the generated code refuses, the caller multiplies in f32 by generated
    // code, which is faster than integers in plain C++.
    if (has(isa, isa_avx2)) return make_jit_integer_kernel(format, isa, kernel);
    kernel = make_ref_integer_kernel(format);
    return {};
}

} // namespace dnnl_dequant
