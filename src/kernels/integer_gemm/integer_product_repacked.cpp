// The product whose weights were repacked once.

#include <algorithm>
#include <cstring>

#include "kernels/integer_gemm/integer_product.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t simd_w = 16, nr = 2 * simd_w, line = 64;

// Returns the column whose sum is in lane n.
dim_t column_of(const integer_format_t &format, dim_t n) {
    if (!format.has_two_columns()) return n;
    const dim_t within = n % nr;
    return n - within + within % simd_w * 2 + within / simd_w;
}

// Sums the four bytes of a lane. No carry passes from one byte to the next.
uint32_t sum_of_bytes(uint32_t bytes) {
    constexpr uint32_t even = 0x00ff00ff;
    const uint32_t pairs = (bytes & even) + (bytes >> 8 & even);
    return (pairs & UINT16_MAX) + (pairs >> 16);
}

// Adds a line's sums to those of sixteen lanes. The compiler vectorizes this
// loop.
void add_sums(const uint8_t *line_at, uint32_t mask, int shift, int32_t *sums) {
    uint32_t k4_blocks[simd_w];
    std::memcpy(k4_blocks, line_at, sizeof(k4_blocks));
    for (dim_t i = 0; i < simd_w; ++i)
        sums[i] += static_cast<int32_t>(
                sum_of_bytes(k4_blocks[i] >> shift & mask));
}

// Sums each lane of a group. The order of lines is the one in which
// jit_integer_repacked reads them.
void sum_lanes(const integer_format_t &format, const uint8_t *group,
        dim_t lines, int32_t *sums) {
    const int halves = format.is_nibble() ? 2 : 1;
    const uint32_t mask = format.is_nibble() ? 0x0f0f0f0f : ~0u;
    std::fill_n(sums, integer_panel, 0);
    for (dim_t i = 0; i < lines; ++i)
        for (int half = 0; half < halves; ++half) {
            const dim_t v = format.has_two_columns() ? i % 2 * 2 + half : i % 4;
            add_sums(group + i * line, mask, 4 * half, sums + v * simd_w);
        }
}

// Writes the parameters of a group of a panel behind its k4 blocks, in the
// order of the lanes.
void write_parameters(const integer_format_t &format,
        const integer_columns_t &columns, const uint8_t *group, uint8_t *to) {
    struct {
        float scales[integer_panel];
        int32_t zps[integer_panel], sums[integer_panel];
    } lanes;
    uint32_t shorts[integer_panel];
    sum_lanes(format, group, (to - group) / line, lanes.sums);
    for (dim_t n = 0; n < integer_panel; ++n) {
        const dim_t column = column_of(format, n);
        lanes.scales[n] = columns.scales[column];
        lanes.zps[n] = columns.zps[column];
        shorts[n] = integer_short(lanes.zps[n], lanes.sums[n]);
    }
    std::memcpy(to, lanes.scales, sizeof(lanes.scales));
    to += sizeof(lanes.scales);
    if (format.has_short_sums) std::memcpy(to, shorts, sizeof(shorts));
    else std::memcpy(to, lanes.zps, sizeof(lanes.zps) + sizeof(lanes.sums));
}

// Returns the bytes of a panel in a k4 block.
dim_t k4_bytes(const integer_format_t &format) {
    return bytes_of(format.weights, integer_panel * k4_depth);
}

// Returns the bytes of a group's scales and corrections.
dim_t parameter_bytes(const integer_format_t &format) {
    return integer_panel * (format.has_short_sums ? 8 : 12);
}

} // namespace

dim_t integer_product_t::repacked_panels() const {
    return div_up(plan_.cols, integer_panel);
}

dim_t integer_product_t::repacked_panel_bytes() const {
    return row_end_ / k4_depth * k4_bytes(plan_.format)
           + static_cast<dim_t>(plan_.groups.size())
                     * parameter_bytes(plan_.format);
}

void integer_product_t::repack(
        void *const *buffers, dim_t begin, dim_t end, void *to) const noexcept {
    for (dim_t panel = begin; panel < end; ++panel)
        repack_panel(buffers, panel,
                static_cast<uint8_t *>(to) + panel * repacked_panel_bytes());
}

void integer_product_t::repack_panel(
        void *const *buffers, dim_t panel, uint8_t *to) const {
    const integer_format_t &format = plan_.format;
    const auto &scales = plan_.weights_scales, &zps = plan_.weights_zps;
    const dim_t col = panel * integer_panel;
    const dim_t cols = std::min(integer_panel, plan_.cols - col);
    integer_columns_t columns = {};
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const auto &group = plan_.groups[g];
        plan_.kernel->load_parameters(
                {buffers[scales.operand], buffers[zps.operand],
                        &scales.group[g], &zps.group[g], col},
                cols, 1, &columns);
        plan_.kernel->unpack(
                {buffers[0], weight(group.begin, col), 0, group.size, cols, 0},
                {to, &columns, 0, k4_blocks_[g]});
        uint8_t *parameters = to + k4_blocks_[g] * k4_bytes(format);
        write_parameters(format, columns, to, parameters);
        to = parameters + parameter_bytes(format);
    }
}

void integer_product_t::run_repacked(
        void *const *buffers, const block_t &block, const void *shared) const {
    const integer_tile_t of_src = make_tile(block, shared);
    integer_repacked_tile_t tile = {};
    tile.k4_blocks = k4_blocks_.data();
    tile.group_count = static_cast<dim_t>(plan_.groups.size());
    tile.a = of_src.a;
    tile.a_k4_pitch = of_src.a_k4_pitch;
    tile.rows = of_src.rows;
    tile.row_groups = of_src.row_groups;
    tile.row_groups_pitch = of_src.row_groups_pitch;
    tile.c_pitch = of_src.c_pitch;
    const dim_t first = block.first_col / integer_panel;
    for (dim_t p = 0; p * integer_panel < block.cols; ++p) {
        tile.weights = static_cast<const uint8_t *>(buffers[0])
                       + (first + p) * repacked_panel_bytes();
        tile.c = block.c + p * integer_panel;
        plan_.repacked->multiply(tile);
    }
}

} // namespace dnnl_dequant
