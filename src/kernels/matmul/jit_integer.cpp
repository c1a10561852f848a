// Products of integers by generated code for AVX-512 with VNNI.

#include "kernels/matmul/integer_kernel.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>

#include "kernels/dequantize/jit_params.hpp"
#include "kernels/matmul/jit_integer_code.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t rows_of_quad = 4;

// Zero points become integers; and where both terms are short, they stand side
// by side with the other sign. A loop that the compiler makes vectors of.
__attribute__((target("avx2"))) void note_zps(
        const float *staged, int bias, integer_columns_t &columns) {
    for (dim_t n = 0; n < integer_panel; ++n) {
        const int32_t zp = static_cast<int32_t>(staged[n]) + bias;
        columns.zps[n] = zp;
        columns.shorts[n]
                = (static_cast<uint32_t>(-zp) << 16)
                  | (static_cast<uint32_t>(-columns.sums[n]) & UINT16_MAX);
    }
}

class jit_integer_t : public integer_kernel_t {
public:
    explicit jit_integer_t(const integer_format_t &format)
        : format_(format)
        , bias_(integer_bias(format))
        , stage_scales_(stage_floats_of(format.scales))
        , stage_zps_(stages_of_zps(format.zps).whole) {}

    result_t make() {
        result_t result = make_jit_integer_multiply(format_, multiply_);
        if (!result.ok()) return result;
        return format_.depth_stride == 1
                       ? make_jit_integer_unpack(format_, columns_)
                       : make_jit_integer_unpack(format_, rows_);
    }

    const char *name() const override {
        return "jit_integer_matmul_avx512_core_vnni";
    }

    void unpack(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept override {
        if (columns_) unpack_columns(weights, group);
        else unpack_rows(weights, group);
    }

    void load_parameters(const void *scales, dim_t first_scale, const void *zps,
            dim_t first_zp, dim_t cols,
            integer_columns_t &columns) const noexcept override {
        stage_scales_(columns.scales, scales, first_scale,
                format_.scales_stride, cols);
        float staged[integer_panel + 16] = {};
        if (format_.zps != data_type_t::undef)
            stage_zps_(staged, zps, first_zp, format_.zps_stride, cols);
        note_zps(staged, bias_, columns);
    }

    void multiply(const integer_tile_t &tile) const noexcept override {
        // Rows in even parts.
        constexpr dim_t most = jit_integer_multiply_t::most_rows;
        const dim_t parts = (tile.rows + most - 1) / most;
        integer_tile_t part = tile;
        dim_t row = 0;
        for (dim_t p = 0; p < parts; ++p) {
            part.rows = (tile.rows - row) / (parts - p);
            part.a = tile.a + row * tile.a_pitch;
            part.row_groups = tile.row_groups + row * tile.row_groups_pitch;
            part.c = tile.c + row * tile.c_pitch;
            (*multiply_)(part);
            row += part.rows;
        }
    }

private:
    const uint8_t *at(const integer_weights_t &weights, dim_t element) const {
        return static_cast<const uint8_t *>(weights.base)
               + bytes_of(format_.weights, weights.first + element);
    }

    void unpack_rows(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept {
        jit_integer_rows_args_t args;
        args.weights = at(weights, 0);
        args.quads = group.quads;
        args.sums = group.columns->sums;
        args.pitch = bytes_of(format_.weights, format_.depth_stride);
        args.ahead = bytes_of(format_.weights, weights.ahead);
        args.quad_count = weights.cols == integer_panel
                                  ? weights.depth / rows_of_quad
                                  : 0;
        if (args.quad_count > 0) (*rows_)(args);
        for (dim_t k = args.quad_count * rows_of_quad; k < weights.depth;
                k += rows_of_quad)
            unpack_part(weights, k, group);
    }

    // Rows or columns are missing: elsewhere there is room for all.
    void unpack_part(const integer_weights_t &weights, dim_t k,
            const integer_group_t &group) const noexcept {
        uint8_t rows[rows_of_quad][integer_panel];
        std::memset(rows, turned_bits(format_), sizeof(rows));
        const auto bytes
                = static_cast<size_t>(bytes_of(format_.weights, weights.cols));
        for (dim_t r = 0; r < std::min(rows_of_quad, weights.depth - k); ++r)
            std::memcpy(rows[r], at(weights, (k + r) * format_.depth_stride),
                    bytes);
        (*rows_)({rows, group.quads + k * integer_panel, group.columns->sums,
                integer_panel, 1, 0});
    }

    void unpack_columns(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept {
        jit_integer_columns_args_t args;
        args.bytes = bytes_of(format_.weights, weights.depth);
        args.ahead = bytes_of(format_.weights, weights.ahead);
        const uint8_t *first = at(weights, 0);
        const dim_t pitch = bytes_of(format_.weights, format_.col_stride);
        for (dim_t n = 0; n < weights.cols; n += args.cols) {
            // For a column that is missing the last one serves.
            for (dim_t i = 0; i < args.cols; ++i)
                args.columns[i]
                        = first + std::min(n + i, weights.cols - 1) * pitch;
            args.quads = group.quads + n * rows_of_quad;
            args.sums = group.columns->sums + n;
            (*columns_)(args);
        }
        if (bits_of(format_.weights) == 4 && weights.depth % 2 != 0)
            clear_row(place_in_group(format_, weights.depth), group);
    }

    // What follows an odd number of nibbles in their last byte.
    static void clear_row(dim_t place, const integer_group_t &group) noexcept {
        for (dim_t n = 0; n < integer_panel; ++n) {
            int8_t &value
                    = group.quads[(place / rows_of_quad * integer_panel + n)
                                          * rows_of_quad
                                  + place % rows_of_quad];
            group.columns->sums[n] -= value;
            value = 0;
        }
    }

    const integer_format_t format_;
    const int bias_;
    const stage_t stage_scales_, stage_zps_;
    std::unique_ptr<jit_integer_multiply_t> multiply_;
    std::unique_ptr<jit_integer_rows_t> rows_;
    std::unique_ptr<jit_integer_columns_t> columns_;
};

} // namespace

result_t make_jit_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel) {
    const auto refuse = [](const char *why) {
        return result_t(status_t::unimplemented, why);
    };
    if (!has(isa, isa_avx512_core_vnni)) return refuse("no AVX-512 VNNI");
    if (format.depth_stride != 1 && format.col_stride != 1)
        return refuse("neither rows nor columns of the weights lie side by "
                      "side");
    if (bits_of(format.weights) == 4
            && (format.depth_stride == 1 ? format.col_stride
                                         : format.depth_stride)
                               % 2
                       != 0)
        return refuse("rows of the weights begin within a byte");
    if (stage_floats_of(format.scales) == nullptr)
        return refuse("scales are no floats");
    auto made = std::make_shared<jit_integer_t>(format);
    const result_t result = made->make();
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant

#else

namespace dnnl_dequant {

result_t make_jit_integer_kernel(const integer_format_t &, isa_t,
        std::shared_ptr<const integer_kernel_t> &) {
    return {status_t::unimplemented, "the machine is no x86-64"};
}

} // namespace dnnl_dequant

#endif
