// Products of integers by generated code, for AVX-512 with VNNI, for AVX2 with
// AVX-VNNI or for AVX2.

#include "kernels/matmul/integer_kernel.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/dequantize/jit_params.hpp"
#include "kernels/matmul/jit_integer_code.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t rows_of_quad = 4;

// Where sums are short they stand beside the zero points, both with the other
// sign. A loop that the compiler makes vectors of.
__attribute__((target("avx2"))) void note_shorts(integer_columns_t &columns) {
    for (dim_t n = 0; n < integer_panel; ++n)
        columns.shorts[n] = integer_short(columns.zps[n], columns.sums[n]);
}

class jit_integer_t : public integer_kernel_t {
public:
    jit_integer_t(const integer_format_t &format, isa_t isa)
        : format_(format)
        , isa_(isa) {}

    result_t make() {
        const result_t result
                = make_jit_integer_multiply(format_, isa_, multiply_);
        if (!result.ok()) return result;
        return format_.depth_stride == 1
                       ? make_jit_integer_unpack(format_, isa_, columns_)
                       : make_jit_integer_unpack(format_, isa_, rows_);
    }

    const char *name() const override {
        if (!has(isa_, isa_avx512_core_vnni))
            return has(isa_, isa_avx_vnni) ? "jit_integer_matmul_avx_vnni"
                                           : "jit_integer_matmul_avx2";
        return format_.is_packed ? "jit_integer_matmul_packed_avx512_core_vnni"
                                 : "jit_integer_matmul_avx512_core_vnni";
    }

    void unpack(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept override {
        integer_group_t part = group;
        part.quads += bytes_in_quads(weights.begin * integer_panel);
        if (columns_) unpack_columns(weights, part);
        else unpack_rows(weights, part);
    }

    void load_parameters(const integer_parameters_t &from, dim_t cols,
            dim_t groups, integer_columns_t *columns) const noexcept override {
        load_integer_columns(format_, from, cols, groups, columns);
    }

    void multiply(const integer_tile_t &tile) const noexcept override {
        // Rows in even parts.
        const dim_t most = multiply_.most_rows;
        const dim_t parts = div_up(tile.rows, most);
        const bool notes = format_.has_short_sums && !format_.is_packed;
        for (dim_t g = 0; notes && g < tile.group_count; ++g)
            note_shorts(*tile.groups[g].columns);
        integer_tile_t part = tile;
        const dim_t pieces
                = quads_of(tile) / multiply_.quads * multiply_.pieces;
        dim_t row = 0;
        for (dim_t p = 0; p < parts; ++p) {
            if (part.asked.count <= 0) part.asked = nothing_asked(tile);
            part.asked.count -= pieces;
            part.rows = (tile.rows - row) / (parts - p);
            part.a = tile.a + row * tile.a_pitch;
            part.row_groups = tile.row_groups + row * tile.row_groups_pitch;
            part.c = tile.c + row * tile.c_pitch;
            multiply_.code(part);
            row += part.rows;
        }
    }

private:
    dim_t bytes_in_quads(dim_t integers) const {
        return format_.is_packed ? bytes_of(format_.weights, integers)
                                 : integers;
    }

    // The same piece, time and again, of what is there.
    static integer_asked_t nothing_asked(const integer_tile_t &tile) {
        const auto *there = reinterpret_cast<const uint8_t *>(tile.a);
        constexpr dim_t piece = integer_asked_t::piece;
        return {there, there + piece, 0, piece, 0};
    }

    static dim_t quads_of(const integer_tile_t &tile) {
        dim_t quads = 0;
        for (dim_t g = 0; g < tile.group_count; ++g)
            quads += tile.groups[g].quad_count;
        return quads;
    }

    const uint8_t *at(const integer_weights_t &weights, dim_t element) const {
        return static_cast<const uint8_t *>(weights.base)
               + bytes_of(format_.weights, weights.first + element);
    }

    void unpack_rows(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept {
        const bool is_whole = weights.cols == integer_panel;
        const dim_t quads = is_whole ? weights.depth / rows_of_quad : 0;
        if (quads > 0)
            rows_({at(weights, 0), group.quads, group.columns->sums,
                    bytes_of(format_.weights, format_.depth_stride), quads,
                    bytes_of(format_.weights, weights.ahead)});
        for (dim_t k = quads * rows_of_quad; k < weights.depth;
                k += rows_of_quad)
            unpack_part(weights, k, group);
    }

    // Rows or columns are missing: elsewhere there is room for all.
    void unpack_part(const integer_weights_t &weights, dim_t k,
            const integer_group_t &group) const noexcept {
        uint8_t rows[rows_of_quad][integer_panel];
        std::memset(rows, flipped_bits(format_), sizeof(rows));
        const auto bytes
                = static_cast<size_t>(bytes_of(format_.weights, weights.cols));
        for (dim_t r = 0; r < std::min(rows_of_quad, weights.depth - k); ++r)
            std::memcpy(rows[r], at(weights, (k + r) * format_.depth_stride),
                    bytes);
        rows_({rows, group.quads + bytes_in_quads(k * integer_panel),
                group.columns->sums, integer_panel, 1, 0});
    }

    void unpack_columns(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept {
        const jit_integer_columns_args_t args
                = {at(weights, 0), group.quads, group.columns->sums,
                        bytes_of(format_.weights, format_.col_stride),
                        bytes_of(format_.weights, weights.depth),
                        weights.cols / jit_integer_columns_args_t::cols};
        if (args.slices > 0) columns_(args);
        if (weights.cols % args.cols != 0) unpack_slice(args, weights.cols);
        if (bits_of(format_.weights) == 4 && weights.depth % 2 != 0)
            clear_row(weights.depth, group);
    }

    // Columns are missing: a line at a time, of those that there are.
    void unpack_slice(
            jit_integer_columns_args_t args, dim_t cols) const noexcept {
        constexpr dim_t line = 64;
        uint8_t lines[args.cols * line] = {};
        const auto *from = static_cast<const uint8_t *>(args.weights)
                           + args.slices * args.cols * args.pitch;
        const dim_t pitch = args.pitch, bytes = args.bytes;
        args.weights = lines;
        args.quads += args.slices * args.cols * rows_of_quad;
        args.sums += args.slices * args.cols;
        args.pitch = line;
        for (dim_t at = 0; at < bytes; at += line) {
            args.bytes = std::min(line, bytes - at);
            for (dim_t n = 0; n < cols % args.cols; ++n)
                std::memcpy(lines + n * line, from + n * pitch + at,
                        static_cast<size_t>(args.bytes));
            args.slices = 1;
            columns_(args);
            args.quads += bytes_in_quads(
                    args.bytes * 8 / bits_of(format_.weights) * integer_panel);
        }
    }

    // What follows an odd number of nibbles in their last byte.
    void clear_row(dim_t k, const integer_group_t &group) const noexcept {
        const bool is_packed = format_.is_packed;
        const dim_t place = is_packed ? k / 2 : place_in_group(format_, k);
        uint8_t *value = group.quads + place % rows_of_quad
                         + (place - place % rows_of_quad) * integer_panel;
        for (dim_t n = 0; n < integer_panel; ++n, value += rows_of_quad) {
            if (!is_packed) group.columns->sums[n] -= *value;
            *value &= is_packed ? 0x0f : 0;
        }
    }

    const integer_format_t format_;
    const isa_t isa_;
    jit_integer_multiply_t multiply_;
    jit_integer_rows_t rows_;
    jit_integer_columns_t columns_;
};

} // namespace

result_t make_jit_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel) {
    if (!has(isa, isa_avx2)) return refuse("no AVX2");
    if (format.is_packed && !has(isa, isa_avx512_core_vnni))
        return refuse("packed weights are parted by AVX-512 VNNI only");
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
    auto made = std::make_shared<jit_integer_t>(format, isa);
    const result_t result = made->make();
    if (result.ok()) kernel = std::move(made);
    return result;
}

} // namespace dnnl_dequant
