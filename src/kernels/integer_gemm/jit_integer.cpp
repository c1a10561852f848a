// Products of integers by generated code, for AVX-512 with VNNI and for AVX2.
//
// Scales and zero points of a panel may be stored column by column. Then eight
// columns at a time are converted in that order and transposed. For 4096 x 4096
// in groups of 128 that takes a tenth of the time of a gather.

#include "kernels/integer_gemm/integer_kernel.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "kernels/dequantize/jit_loaders.hpp"
#include "kernels/dequantize/jit_params.hpp"
#include "kernels/integer_gemm/jit_integer_code.hpp"
#include "kernels/integer_gemm/jit_integer_stream.hpp"
#include "kernels/jit/transpose_floats.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t eight = 8, most_groups = 128, beyond = 16,
                group_pitch = sizeof(integer_columns_t) / sizeof(float);

// The scales or zero points of a panel's columns, as they are stored.
struct source_t {
    stage_t stage;
    const void *base;
    const dim_t *places; // of column 0
    dim_t col_stride, first_col, cols;

    void load(
            dim_t group, dim_t n, dim_t stride, dim_t count, float *to) const {
        stage(to, base, places[group] + (first_col + n) * col_stride, stride,
                count);
    }
    bool has_contiguous_groups(dim_t groups) const {
        if (col_stride <= 1 || groups == 1) return false;
        for (dim_t g = 1; g < groups; ++g)
            if (places[g] != places[g - 1] + 1) return false;
        return true;
    }
};

// Transposes eight columns by eight groups and stores the first `rows` of them.
DNNL_DEQUANT_AVX2 void transpose(
        const float *from, dim_t groups, float *to, dim_t rows) noexcept {
    __m256 columns[eight];
    load_transposed(from, groups, columns);
    for (dim_t i = 0; i < rows; ++i)
        _mm256_storeu_ps(to + i * group_pitch, columns[i]);
}

void load_columns(
        const source_t &from, dim_t first, dim_t groups, float *to) noexcept {
    float staged[eight * most_groups + beyond] = {};
    const bool is_dense = from.col_stride == groups;
    for (dim_t n = 0; n < from.cols; n += eight) {
        const dim_t count = std::min(eight, from.cols - n);
        if (is_dense) from.load(first, n, 1, count * groups, staged);
        for (dim_t i = 0; !is_dense && i < count; ++i)
            from.load(first, n + i, 1, groups, staged + i * groups);
        for (dim_t g = 0; g < groups; g += eight)
            transpose(staged + g, groups, to + g * group_pitch + n,
                    std::min(eight, groups - g));
    }
}

void load(const source_t &from, dim_t groups, void *first) noexcept {
    auto *to = static_cast<float *>(first);
    const bool transposes = from.has_contiguous_groups(groups);
    const dim_t step = transposes ? most_groups : 1;
    float staged[integer_panel + beyond] = {};
    for (dim_t g = 0; g < groups; g += step, to += step * group_pitch) {
        if (transposes) {
            load_columns(from, g, std::min(step, groups - g), to);
            continue;
        }
        from.load(g, 0, from.col_stride, from.cols, staged);
        std::memcpy(to, staged, integer_panel * sizeof(float));
    }
}

// Converts zero points to integers in place; they were loaded as f32. The
// compiler vectorizes this loop and the next one.
__attribute__((target("avx2"))) void make_zps(
        integer_columns_t &columns, dim_t cols, int bias) noexcept {
    for (dim_t n = 0; n < cols; ++n) {
        float zp;
        std::memcpy(&zp, columns.zps + n, sizeof(zp));
        columns.zps[n] = static_cast<int32_t>(zp) + bias;
    }
}

// Packs each short sum with the zero point, both negated.
__attribute__((target("avx2"))) void make_shorts(integer_columns_t &columns) {
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
        name_ = text("jit_integer_matmul_", format_.is_packed ? "packed_" : "",
                name_of(multiply_.isa));
        if (format_.is_by_column())
            return make_jit_integer_unpack(format_, isa_, columns_);
        const result_t of_two
                = format_.unpacks_two
                          ? make_jit_integer_unpack(format_, two_panels_)
                          : result_t {};
        return of_two.ok() ? make_jit_integer_unpack(format_, isa_, rows_)
                           : of_two;
    }

    const char *name() const override { return name_.c_str(); }

    void unpack(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept override {
        integer_group_t part = group;
        part.k4_blocks += bytes_in_k4_blocks(weights.begin * integer_panel);
        if (columns_) unpack_columns(weights, part);
        else unpack_rows(weights, part);
    }

    void unpack_two(const integer_weights_t &weights,
            const integer_group_t &first,
            const integer_group_t &second) const noexcept override {
        const dim_t begin = weights.begin * integer_panel;
        two_panels_({at(weights, 0),
                {first.k4_blocks + begin, second.k4_blocks + begin},
                {first.columns->sums, second.columns->sums},
                bytes_of(format_.weights, format_.depth_stride),
                weights.depth / k4_depth});
    }

    void load_parameters(const integer_parameters_t &from, dim_t cols,
            dim_t groups, integer_columns_t *columns) const noexcept override {
        load({stage_floats_of(format_.scales), from.scales, from.scale_places,
                     format_.scales_stride, from.first_col, cols},
                groups, columns->scales);
        const int bias = integer_bias(format_);
        const bool has_zps = format_.zps != data_type_t::undef;
        if (has_zps)
            load({stages_of_zps(format_.zps).whole, from.zps, from.zp_places,
                         format_.zps_stride, from.first_col, cols},
                    groups, columns->zps);
        for (dim_t g = 0; g < groups; ++g)
            if (has_zps) make_zps(columns[g], cols, bias);
            else std::fill_n(columns[g].zps, integer_panel, bias);
    }

    void multiply(const integer_tile_t &tile) const noexcept override {
        // The rows are split into parts of nearly equal size.
        const dim_t parts = div_up(tile.rows, multiply_.most_rows);
        const bool has_shorts = format_.has_short_sums && !format_.is_packed;
        dim_t k4_blocks = 0;
        for (dim_t g = 0; g < tile.group_count; ++g) {
            if (has_shorts) make_shorts(*tile.groups[g].columns);
            k4_blocks += tile.groups[g].k4_count;
        }
        integer_tile_t part = tile;
        const dim_t steps = k4_blocks / multiply_.k4_blocks * multiply_.steps;
        dim_t row = 0;
        for (dim_t p = 0; p < parts; ++p) {
            if (part.prefetch.count <= 0) part.prefetch = no_prefetch(tile);
            part.prefetch.count -= steps;
            part.rows = (tile.rows - row) / (parts - p);
            part.a = tile.a + row * tile.a_pitch;
            part.row_groups = tile.row_groups + row * tile.row_groups_pitch;
            part.c = tile.c + row * tile.c_pitch;
            part.has_sums = format_.keeps_sums && p > 0;
            multiply_.code(part);
            row += part.rows;
        }
    }

private:
    dim_t bytes_in_k4_blocks(dim_t integers) const {
        return format_.is_packed ? bytes_of(format_.weights, integers)
                                 : integers;
    }

    // With nothing to prefetch the code prefetches one step of src, which is
    // in cache already, again and again.
    static integer_prefetch_t no_prefetch(const integer_tile_t &tile) {
        const auto *there = reinterpret_cast<const uint8_t *>(tile.a);
        constexpr dim_t step = integer_prefetch_t::step;
        return {there, there + step, 0, step, 0};
    }

    const uint8_t *at(const integer_weights_t &weights, dim_t element) const {
        return static_cast<const uint8_t *>(weights.base)
               + bytes_of(format_.weights, weights.first + element);
    }

    void unpack_rows(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept {
        const bool is_whole = weights.cols == integer_panel;
        const dim_t k4_blocks = is_whole ? weights.depth / k4_depth : 0;
        if (k4_blocks > 0)
            rows_({at(weights, 0), group.k4_blocks, group.columns->sums,
                    bytes_of(format_.weights, format_.depth_stride), k4_blocks,
                    bytes_of(format_.weights, weights.ahead)});
        // The code reads a whole tile, so what exists of one is copied to
        // padded memory.
        uint8_t rows[k4_depth][integer_panel];
        const auto bytes
                = static_cast<size_t>(bytes_of(format_.weights, weights.cols));
        for (dim_t k = k4_blocks * k4_depth; k < weights.depth; k += k4_depth) {
            std::memset(rows, flipped_bits(format_), sizeof(rows));
            for (dim_t r = 0; r < std::min(k4_depth, weights.depth - k); ++r)
                std::memcpy(rows[r],
                        at(weights, (k + r) * format_.depth_stride), bytes);
            rows_({rows,
                    group.k4_blocks + bytes_in_k4_blocks(k * integer_panel),
                    group.columns->sums, integer_panel, 1, 0});
        }
    }

    void unpack_columns(const integer_weights_t &weights,
            const integer_group_t &group) const noexcept {
        const dim_t cols = weights.cols % nr, nr_blocks = weights.cols / nr;
        const dim_t bytes = bytes_of(format_.weights, weights.depth);
        if (nr_blocks > 0)
            columns_({at(weights, 0), group.k4_blocks, group.columns->sums,
                    bytes_of(format_.weights, format_.col_stride), bytes,
                    nr_blocks});
        if (cols > 0)
            unpack_nr_block(at(weights, nr_blocks * nr * format_.col_stride),
                    cols, bytes, group.k4_blocks + nr_blocks * nr * k4_depth,
                    group.columns->sums + nr_blocks * nr);
        if (format_.is_nibble() && weights.depth % 2 != 0)
            clear_row(weights.depth, group);
    }

    // Copies the columns that exist to padded memory, a line at a time, because
    // the nr block is not whole.
    void unpack_nr_block(const uint8_t *from, dim_t cols, dim_t bytes,
            uint8_t *k4_blocks, int32_t *sums) const noexcept {
        constexpr dim_t line = 64;
        const dim_t pitch = bytes_of(format_.weights, format_.col_stride);
        uint8_t lines[nr * line] = {};
        for (dim_t k = 0; k < bytes; k += line) {
            const dim_t count = std::min(line, bytes - k);
            for (dim_t n = 0; n < cols; ++n)
                std::memcpy(lines + n * line, from + n * pitch + k,
                        static_cast<size_t>(count));
            columns_({lines, k4_blocks, sums, line, count, 1});
            k4_blocks += bytes_in_k4_blocks(
                    count * 8 / bits_of(format_.weights) * integer_panel);
        }
    }

    // Clears what follows an odd number of nibbles in their last byte.
    void clear_row(dim_t k, const integer_group_t &group) const noexcept {
        const bool is_packed = format_.is_packed;
        const dim_t place = is_packed ? k / 2 : place_in_group(format_, k);
        uint8_t *value = group.k4_blocks + place % k4_depth
                         + (place - place % k4_depth) * integer_panel;
        for (dim_t n = 0; n < integer_panel; ++n, value += k4_depth) {
            if (!is_packed) group.columns->sums[n] -= *value;
            *value &= is_packed ? 0x0f : 0;
        }
    }

    static constexpr dim_t nr = jit_integer_columns_args_t::cols;

    const integer_format_t format_;
    const isa_t isa_;
    std::string name_;
    jit_integer_multiply_t multiply_;
    jit_integer_rows_t rows_;
    jit_integer_two_panels_t two_panels_; // if unpacks_two
    jit_integer_columns_t columns_;
};

// Refuses weights that no generated code takes.
result_t check_layout(const integer_format_t &format, isa_t isa) {
    if (!has(isa, isa_avx2)) return refuse("no AVX2");
    if (!format.is_by_column() && format.col_stride != 1)
        return refuse("neither rows nor columns of the weights lie side by "
                      "side");
    const dim_t pitch
            = format.is_by_column() ? format.col_stride : format.depth_stride;
    if (pitch * bits_of(format.weights) % 8 != 0)
        return refuse("rows of the weights begin within a byte");
    if (stage_floats_of(format.scales) == nullptr)
        return refuse("scales are no floats");
    return {};
}

} // namespace

result_t make_jit_integer_kernel(const integer_format_t &format, isa_t isa,
        std::shared_ptr<const integer_kernel_t> &kernel) {
    if (format.k4_chunk > 1 && !has(isa, isa_amx_bf16))
        return refuse("chunks are multiplied by AMX only");
    if (format.is_packed && !has(isa, isa_avx512_core_vnni))
        return refuse("packed weights are parted by AVX-512 VNNI only");
    if (format.unpacks_two && !has(isa, isa_avx512_core_vbmi))
        return refuse("two panels are unpacked by AVX-512 VBMI only");
    result_t result = check_layout(format, isa);
    if (!result.ok()) return result;
    auto made = std::make_shared<jit_integer_t>(format, isa);
    result = made->make();
    if (result.ok()) kernel = std::move(made);
    return result;
}

result_t make_integer_stream(const integer_stream_weights_t &weights, isa_t isa,
        std::shared_ptr<const integer_stream_t> &stream) {
    const integer_format_t &format = weights.format;
    const result_t result = check_layout(format, isa);
    if (!result.ok()) return result;
    return format.is_by_column() ? make_integer_k_lanes(weights, isa, stream)
                                 : make_integer_n_lanes(weights, isa, stream);
}

} // namespace dnnl_dequant
