#include "kernels/matmul/integer_product.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/convert.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64;
// Bytes of a column of weights that are asked for ahead.
constexpr dim_t bytes_ahead = 256;
// What unpacked weights may take of a core's second cache.
constexpr dim_t most_part_bytes = 128 * 1024;
constexpr int sign_bit = 0x80;

dim_t whole_lines(dim_t bytes) {
    return (bytes + line - 1) / line * line;
}

uint8_t *at(void *base, dim_t bytes) {
    return static_cast<uint8_t *>(base) + bytes;
}
const uint8_t *at(const void *base, dim_t bytes) {
    return static_cast<const uint8_t *>(base) + bytes;
}

// A sum that the compiler makes vectors of; of values with a sign or without,
// the bit turned over first or last.
int32_t sum_of(const uint8_t *values, dim_t count, bool is_signed) {
    const uint8_t turned = is_signed ? sign_bit : 0;
    int32_t sum = 0;
    for (dim_t k = 0; k < count; ++k)
        sum += values[k] ^ turned;
    return sum - static_cast<int32_t>(count) * turned;
}

void gather(const uint8_t *from, dim_t stride, dim_t count, uint8_t *to) {
    if (stride == 1) {
        std::memcpy(to, from, static_cast<size_t>(count));
        return;
    }
    for (dim_t k = 0; k < count; ++k)
        to[k] = from[k * stride];
}

} // namespace

integer_product_t::integer_product_t(integer_plan_t plan)
    : plan_(std::move(plan)) {
    if (plan_.stream) place_groups_of_stream();
    else place_groups();
}

void integer_product_t::place_groups_of_stream() {
    for (const auto &group : plan_.groups)
        places_.push_back(group.begin);
    constexpr dim_t unit = integer_stream_t::src_unit;
    row_end_ = (plan_.depth + unit - 1) / unit * unit;
}

void integer_product_t::place_groups() {
    dim_t depth = 0;
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const dim_t size = whole_units(plan_.format, plan_.groups[g].size);
        if (blocks_.empty() || depth + size > block_depth
                || blocks_.back().count == most_block_groups) {
            blocks_.push_back({g, 0});
            depth = 0;
        }
        ++blocks_.back().count;
        depth += size;
        deepest_ = std::max(deepest_, depth);
        places_.push_back(row_end_);
        row_end_ += size;
    }
    if (plan_.format.depth_stride != 1)
        part_panels_ = std::clamp<dim_t>(
                most_part_bytes / (deepest_ * integer_panel), 1,
                most_block_panels);
}

dim_t integer_product_t::row_bytes() const {
    // Rows of a power of two would meet in the same sets of the cache.
    return whole_lines(row_end_) + line;
}

dim_t integer_product_t::rows_at() const {
    return plan_.quantize ? whole_lines(plan_.rows * plan_.depth) : 0;
}

dim_t integer_product_t::groups_at() const {
    return rows_at() + plan_.rows * row_bytes();
}

dim_t integer_product_t::shared_bytes() const {
    const auto groups = static_cast<dim_t>(plan_.groups.size());
    return whole_lines(
            groups_at()
            + plan_.rows * groups * static_cast<dim_t>(sizeof(row_group_t)));
}

dim_t integer_product_t::panel_bytes() const {
    return deepest_ * integer_panel
           + whole_lines(most_block_groups
                         * static_cast<dim_t>(sizeof(integer_columns_t)));
}

dim_t integer_product_t::own_bytes() const {
    if (plan_.stream)
        return whole_lines(plan_.stream->own_bytes(
                plan_.stream_block.rows, plan_.stream_block.cols));
    return part_panels_ * panel_bytes();
}

row_group_t integer_product_t::parameters_of(void *const *buffers, dim_t row,
        size_t group, const uint8_t *values) const {
    const auto element = [&](const integer_parameter_t &of) {
        return of.first[static_cast<size_t>(row)] + of.group[group];
    };
    const auto &scales = plan_.src_scales, &zps = plan_.src_zps;
    const bool is_biased = plan_.is_src_signed && !plan_.stream;
    int32_t zp = is_biased ? sign_bit : 0;
    if (zps.type != data_type_t::undef)
        zp += static_cast<int32_t>(
                load_int(zps.type, buffers[zps.operand], element(zps)));
    const dim_t size = plan_.groups[group].size;
    // Its elements are anywhere in its units, the rest of which are zeros.
    const int32_t sum
            = plan_.stream
                      ? sum_of(values, size, plan_.is_src_signed)
                      : sum_of(values, whole_units(plan_.format, size), false);
    return make_row_group(zp, sum - static_cast<int32_t>(size) * zp,
            load_f32(scales.type, buffers[scales.operand], element(scales)));
}

// The bytes of one group of a row, in order, become what is multiplied.
void integer_product_t::lay_out_group(uint8_t *values, dim_t size) const {
    const integer_format_t &format = plan_.format;
    const dim_t unit = integer_unit(format);
    if (plan_.is_src_signed)
        for (dim_t k = 0; k < size; ++k)
            values[k] ^= sign_bit;
    if (unit == 4) return;
    uint8_t in_order[8], places[8];
    for (dim_t i = 0; i < unit; ++i)
        places[i] = static_cast<uint8_t>(place_in_group(format, i));
    for (dim_t k = 0; k < size; k += unit) {
        std::memcpy(in_order, values + k, sizeof(in_order));
        for (int i = 0; i < 8; ++i)
            values[k + places[i]] = in_order[i];
    }
}

void integer_product_t::lay_out_row(
        void *const *buffers, dim_t row, void *shared) const {
    const auto *from
            = plan_.quantize
                      ? at(shared, row * plan_.depth)
                      : at(buffers[0], plan_.first[static_cast<size_t>(row)]);
    uint8_t *to = at(shared, rows_at() + row * row_bytes());
    if (plan_.stream) lay_out_for_stream(from, to);
    else lay_out_groups(from, to);
    const auto count = plan_.groups.size();
    auto *of_groups = reinterpret_cast<row_group_t *>(at(shared, groups_at()))
                      + row * static_cast<dim_t>(count);
    for (size_t g = 0; g < count; ++g)
        of_groups[g] = parameters_of(buffers, row, g, to + places_[g]);
    if (plan_.stream) plan_.stream->arrange(to);
}

void integer_product_t::lay_out_for_stream(
        const uint8_t *from, uint8_t *to) const {
    gather(from, plan_.depth_stride, plan_.depth, to);
    std::memset(
            to + plan_.depth, 0, static_cast<size_t>(row_end_ - plan_.depth));
}

void integer_product_t::lay_out_groups(const uint8_t *from, uint8_t *to) const {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const auto &group = plan_.groups[g];
        uint8_t *values = to + places_[g];
        const dim_t whole = whole_units(plan_.format, group.size);
        std::memset(values + group.size, 0,
                static_cast<size_t>(whole - group.size));
        gather(from + group.begin * plan_.depth_stride, plan_.depth_stride,
                group.size, values);
        lay_out_group(values, group.size);
    }
}

void integer_product_t::lay_out(void *const *buffers, dim_t begin, dim_t end,
        void *shared) const noexcept {
    for (dim_t row = begin; row < end; ++row)
        lay_out_row(buffers, row, shared);
}

dim_t integer_product_t::first_weight(
        const group_block_t &groups, dim_t col) const {
    return plan_.groups[groups.first].begin * plan_.format.depth_stride
           + col * plan_.format.col_stride;
}

void integer_product_t::place_panels(part_t &part, void *own) const {
    for (dim_t p = 0; p < part.panel_count(); ++p) {
        auto *quads = static_cast<int8_t *>(own) + p * panel_bytes();
        auto *columns = reinterpret_cast<integer_columns_t *>(
                quads + deepest_ * integer_panel);
        for (size_t i = 0; i < part.groups.count; ++i) {
            const size_t g = part.groups.first + i;
            const dim_t depth = whole_units(plan_.format, plan_.groups[g].size);
            part.panels[static_cast<size_t>(p)][i]
                    = {quads, columns + i, places_[g], depth / 4};
            std::fill_n(columns[i].scales, integer_panel, 0.f);
            std::fill_n(columns[i].sums, integer_panel, 0);
            quads += depth * integer_panel;
        }
    }
}

// Of what is read next, the same panel is asked for.
void integer_product_t::unpack_strips(
        void *const *buffers, const part_t &part) const {
    const integer_format_t &format = plan_.format;
    const bool by_column = format.depth_stride == 1;
    for (size_t i = 0; i < part.groups.count; ++i) {
        const auto &group = plan_.groups[part.groups.first + i];
        const dim_t rows = by_column ? group.size : strip_rows;
        for (dim_t k = 0; k < group.size; k += rows) {
            const dim_t first = (group.begin + k) * format.depth_stride
                                + part.first_col * format.col_stride;
            integer_weights_t weights;
            weights.base = buffers[0];
            weights.depth = std::min(rows, group.size - k);
            const bool is_last = i + 1 == part.groups.count
                                 && k + weights.depth == group.size;
            weights.ahead = by_column
                                    ? bytes_ahead * 8 / bits_of(format.weights)
                            : is_last ? part.next - first
                                      : weights.depth * format.depth_stride;
            for (dim_t p = 0; p < part.panel_count(); ++p) {
                weights.first = first + p * integer_panel * format.col_stride;
                weights.cols = part.panel_cols(p);
                integer_group_t strip = part.panels[static_cast<size_t>(p)][i];
                strip.quads += k * integer_panel;
                plan_.kernel->unpack(weights, strip);
            }
        }
    }
}

void integer_product_t::load_parameters(
        void *const *buffers, const part_t &part) const {
    const auto &scales = plan_.weights_scales, &zps = plan_.weights_zps;
    for (dim_t p = 0; p < part.panel_count(); ++p)
        for (size_t i = 0; i < part.groups.count; ++i) {
            const size_t g = part.groups.first + i;
            const dim_t n = part.first_col + p * integer_panel;
            plan_.kernel->load_parameters(buffers[scales.operand],
                    scales.group[g] + n * plan_.format.scales_stride,
                    buffers[zps.operand],
                    zps.group[g] + n * plan_.format.zps_stride,
                    part.panel_cols(p),
                    *part.panels[static_cast<size_t>(p)][i].columns);
        }
}

void integer_product_t::multiply(
        const block_t &block, const part_t &part, const void *shared) const {
    const auto count = static_cast<dim_t>(plan_.groups.size());
    const auto first = static_cast<dim_t>(part.groups.first);
    integer_tile_t tile;
    tile.a = at(shared, rows_at() + block.first_row * row_bytes());
    tile.a_pitch = row_bytes();
    tile.rows = block.rows;
    tile.row_groups
            = reinterpret_cast<const row_group_t *>(at(shared, groups_at()))
              + block.first_row * count + first;
    tile.row_groups_pitch = count;
    tile.group_count = static_cast<dim_t>(part.groups.count);
    tile.c_pitch = block.c_pitch;
    tile.accumulates = first > 0;
    for (dim_t p = 0; p < part.panel_count(); ++p) {
        tile.groups = part.panels[static_cast<size_t>(p)].data();
        tile.c = block.c + part.col + p * integer_panel;
        plan_.kernel->multiply(tile);
    }
}

void integer_product_t::run(void *const *buffers, const block_t &block,
        const void *shared, void *own) const noexcept {
    if (plan_.stream) run_stream(buffers, block, shared, own);
    else run_parts(buffers, block, shared, own);
}

void integer_product_t::run_stream(void *const *buffers, const block_t &block,
        const void *shared, void *own) const {
    const auto count = static_cast<dim_t>(plan_.groups.size());
    integer_stream_t::block_t of_stream;
    of_stream.a = at(shared, rows_at() + block.first_row * row_bytes());
    of_stream.a_pitch = row_bytes();
    of_stream.rows = block.rows;
    of_stream.row_groups
            = reinterpret_cast<const row_group_t *>(at(shared, groups_at()))
              + block.first_row * count;
    of_stream.row_groups_pitch = count;
    of_stream.first_col = block.first_col;
    of_stream.cols = block.cols;
    of_stream.c = block.c;
    of_stream.c_pitch = block.c_pitch;
    of_stream.own = own;
    for (dim_t r = 0; r < block.rows; ++r)
        std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
    plan_.stream->run(buffers[0], buffers[plan_.weights_scales.operand],
            buffers[plan_.weights_zps.operand], of_stream);
}

void integer_product_t::run_parts(void *const *buffers, const block_t &block,
        const void *shared, void *own) const {
    const dim_t part_cols = part_panels_ * integer_panel;
    part_t part;
    for (size_t b = 0; b < blocks_.size(); ++b)
        for (dim_t col = 0; col < block.cols; col += part_cols) {
            part.groups = blocks_[b];
            part.col = col;
            part.cols = std::min(part_cols, block.cols - col);
            part.first_col = block.first_col + col;
            part.next = col + part_cols < block.cols
                                ? first_weight(blocks_[b],
                                          part.first_col + part_cols)
                                : first_weight(blocks_[std::min(b + 1,
                                                       blocks_.size() - 1)],
                                          block.first_col);
            place_panels(part, own);
            unpack_strips(buffers, part);
            load_parameters(buffers, part);
            multiply(block, part, shared);
        }
}

} // namespace dnnl_dequant
