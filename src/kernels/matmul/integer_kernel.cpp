// The plain C++ that says what a product of integers is.

#include "kernels/matmul/integer_kernel.hpp"

#include <algorithm>
#include <cmath>

#include "base/convert.hpp"

namespace dnnl_dequant {

namespace {

class portable_integer_t : public integer_kernel_t {
public:
    explicit portable_integer_t(const integer_format_t &format)
        : format_(format)
        , bias_(integer_bias(format)) {}

    const char *name() const override { return "portable_integer_matmul"; }

    void unpack(const void *base, dim_t first, dim_t depth, dim_t cols,
            const integer_panel_t &panel) const noexcept override {
        std::fill_n(panel.quads, whole_quads(depth) * integer_panel, int8_t(0));
        std::fill_n(panel.sums, integer_panel, 0);
        for (dim_t k = 0; k < depth; ++k)
            for (dim_t n = 0; n < cols; ++n) {
                const dim_t element = first + k * format_.depth_stride
                                      + n * format_.col_stride;
                const auto value = static_cast<int32_t>(
                        load_int(format_.weights, base, element) + bias_);
                panel.quads[(k / 4 * integer_panel + n) * 4 + k % 4]
                        = static_cast<int8_t>(value);
                panel.sums[n] += value;
            }
    }

    void load_parameters(const void *scales, dim_t first_scale, const void *zps,
            dim_t first_zp, dim_t cols,
            const integer_panel_t &panel) const noexcept override {
        const bool has_zps = format_.zps != data_type_t::undef;
        for (dim_t n = 0; n < cols; ++n) {
            panel.scales[n] = load_f32(format_.scales, scales,
                    first_scale + n * format_.scales_stride);
            panel.zps[n] = bias_;
            if (has_zps)
                panel.zps[n] += static_cast<int32_t>(load_int(
                        format_.zps, zps, first_zp + n * format_.zps_stride));
        }
    }

    void multiply(const integer_tile_t &tile) const noexcept override {
        const integer_panel_t &b = tile.b;
        for (dim_t r = 0; r < tile.rows; ++r) {
            const uint8_t *a = tile.a + r * tile.a_pitch;
            const auto &row = tile.row_groups[r * tile.row_groups_pitch];
            float *c = tile.c + r * tile.c_pitch;
            for (dim_t n = 0; n < integer_panel; ++n) {
                // Modulo 2^32: the terms need not fit, their sum does.
                uint32_t sum = 0;
                for (dim_t k = 0; k < tile.quads * 4; ++k)
                    sum += product(of_src(a[k]),
                            of_weights(b.quads[(k / 4 * integer_panel + n) * 4
                                               + k % 4]));
                sum -= product(row.zp, b.sums[n]) + product(b.zps[n], row.sum);
                const float scaled
                        = static_cast<float>(static_cast<int32_t>(sum))
                          * b.scales[n];
                c[n] = std::fma(
                        scaled, row.scale, tile.accumulates ? c[n] : 0.f);
            }
        }
    }

private:
    static uint32_t product(int32_t a, int32_t b) {
        return static_cast<uint32_t>(a) * static_cast<uint32_t>(b);
    }
    int32_t of_src(uint8_t value) const {
        return format_.is_src_signed ? static_cast<int8_t>(value) : value;
    }
    int32_t of_weights(int8_t value) const {
        return format_.is_src_signed ? static_cast<uint8_t>(value) : value;
    }

    const integer_format_t format_;
    const int bias_;
};

} // namespace

int integer_bias(const integer_format_t &format) {
    switch (format.weights) {
    case data_type_t::s4: return 8;
    case data_type_t::s8: return format.is_src_signed ? 128 : 0;
    case data_type_t::u8: return format.is_src_signed ? 0 : -128;
    default: return 0;
    }
}

std::shared_ptr<const integer_kernel_t> make_portable_integer_kernel(
        const integer_format_t &format) {
    return std::make_shared<portable_integer_t>(format);
}

result_t make_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel) {
    if (has(isa, isa_avx512_core_vnni))
        return make_integer_kernel_vnni(format, isa, kernel);
    // Generated code multiplies f32 faster than plain C++ does integers.
    if (has(isa, isa_avx2)) return {status_t::unimplemented, "no AVX-512 VNNI"};
    kernel = make_portable_integer_kernel(format);
    return {};
}

} // namespace dnnl_dequant
