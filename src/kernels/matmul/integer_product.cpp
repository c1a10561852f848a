#include "kernels/matmul/integer_product.hpp"

#include <algorithm>
#include <cstring>

#include "base/convert.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64;
// What staging may write past the columns of a panel.
constexpr dim_t slack = 16;

dim_t whole_lines(dim_t bytes) {
    return (bytes + line - 1) / line * line;
}

uint8_t *at(void *base, dim_t bytes) {
    return static_cast<uint8_t *>(base) + bytes;
}
const uint8_t *at(const void *base, dim_t bytes) {
    return static_cast<const uint8_t *>(base) + bytes;
}

// A sum that the compiler makes vectors of.
int32_t sum_of(const uint8_t *values, dim_t count, bool is_signed) {
    int32_t sum = 0;
    if (is_signed)
        for (dim_t k = 0; k < count; ++k)
            sum += static_cast<int8_t>(values[k]);
    else
        for (dim_t k = 0; k < count; ++k)
            sum += values[k];
    return sum;
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
    for (const auto &group : plan_.groups)
        longest_ = std::max(longest_, whole_quads(group.size));
}

dim_t integer_product_t::row_bytes() const {
    const auto &last = plan_.groups.back();
    // Rows of a power of two would meet in the same sets of the cache.
    return whole_lines(last.place + whole_quads(last.size)) + line;
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

dim_t integer_product_t::own_bytes() const {
    return whole_lines((longest_ + 3 * 4) * integer_panel + slack * 4);
}

row_group_t integer_product_t::parameters_of(
        void *const *buffers, dim_t row, size_t group) const {
    const auto element = [&](const integer_parameter_t &of) {
        return of.first[static_cast<size_t>(row)] + of.group[group];
    };
    row_group_t result {};
    const auto &scales = plan_.src_scales, &zps = plan_.src_zps;
    result.scale
            = load_f32(scales.type, buffers[scales.operand], element(scales));
    if (zps.type != data_type_t::undef)
        result.zp = static_cast<int32_t>(
                load_int(zps.type, buffers[zps.operand], element(zps)));
    return result;
}

void integer_product_t::lay_out_row(
        void *const *buffers, dim_t row, void *shared) const {
    const auto *from
            = plan_.quantize
                      ? at(shared, row * plan_.depth)
                      : at(buffers[0], plan_.first[static_cast<size_t>(row)]);
    uint8_t *to = at(shared, rows_at() + row * row_bytes());
    const auto count = plan_.groups.size();
    auto *of_groups = reinterpret_cast<row_group_t *>(at(shared, groups_at()))
                      + row * static_cast<dim_t>(count);
    for (size_t g = 0; g < count; ++g) {
        const auto &group = plan_.groups[g];
        uint8_t *values = to + group.place;
        std::memset(values, 0, static_cast<size_t>(whole_quads(group.size)));
        gather(from + group.begin * plan_.depth_stride, plan_.depth_stride,
                group.size, values);
        of_groups[g] = parameters_of(buffers, row, g);
        of_groups[g].sum
                = sum_of(values, group.size, plan_.format.is_src_signed)
                  - static_cast<int32_t>(group.size) * of_groups[g].zp;
    }
}

void integer_product_t::lay_out(void *const *buffers, dim_t begin, dim_t end,
        void *shared) const noexcept {
    for (dim_t row = begin; row < end; ++row)
        lay_out_row(buffers, row, shared);
}

void integer_product_t::run_panel(void *const *buffers, const block_t &block,
        dim_t col, const void *shared, void *own) const {
    const dim_t cols = std::min(integer_panel, block.cols - col);
    const dim_t n = block.first_col + col;
    const auto groups = static_cast<dim_t>(plan_.groups.size());
    integer_panel_t panel;
    panel.quads = static_cast<int8_t *>(own);
    panel.sums = reinterpret_cast<int32_t *>(at(own, longest_ * integer_panel));
    panel.zps = panel.sums + integer_panel;
    panel.scales = reinterpret_cast<float *>(panel.zps + integer_panel);
    std::fill_n(panel.scales, integer_panel, 0.f);
    const integer_format_t &format = plan_.format;
    const auto &scales = plan_.weights_scales, &zps = plan_.weights_zps;
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const auto &group = plan_.groups[g];
        plan_.kernel->unpack(buffers[0],
                group.begin * format.depth_stride + n * format.col_stride,
                group.size, cols, panel);
        plan_.kernel->load_parameters(buffers[scales.operand],
                scales.group[g] + n * format.scales_stride,
                buffers[zps.operand], zps.group[g] + n * format.zps_stride,
                cols, panel);
        integer_tile_t tile;
        tile.a = at(shared,
                rows_at() + block.first_row * row_bytes() + group.place);
        tile.a_pitch = row_bytes();
        tile.rows = block.rows;
        tile.row_groups
                = reinterpret_cast<const row_group_t *>(at(shared, groups_at()))
                  + block.first_row * groups + static_cast<dim_t>(g);
        tile.row_groups_pitch = groups;
        tile.quads = whole_quads(group.size) / 4;
        tile.b = panel;
        tile.c = block.c + col;
        tile.c_pitch = block.c_pitch;
        tile.accumulates = g > 0;
        plan_.kernel->multiply(tile);
    }
}

void integer_product_t::run(void *const *buffers, const block_t &block,
        const void *shared, void *own) const noexcept {
    for (dim_t col = 0; col < block.cols; col += integer_panel)
        run_panel(buffers, block, col, shared, own);
}

} // namespace dnnl_dequant
