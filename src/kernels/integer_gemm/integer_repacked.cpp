// This file writes the parameters that follow the k4 blocks of repacked
// weights.

#include "kernels/integer_gemm/integer_repacked.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dnnl_dequant {

namespace {

constexpr dim_t simd_w = 16, nr = 2 * simd_w, line = 64;

bool has_two_columns(const integer_format_t &format) {
    return bits_of(format.weights) == 4 && format.depth_stride != 1;
}

// Returns the column whose sum is in lane n.
dim_t column_of(const integer_format_t &format, dim_t n) {
    if (!has_two_columns(format)) return n;
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

// The order of lines is the one in which jit_integer_repacked reads them.
void sum_lanes(const integer_repacked_t &layout, size_t g, const uint8_t *group,
        int32_t *sums) {
    const integer_format_t &format = layout.format;
    const dim_t lines = layout.k4_blocks[g] * layout.k4_bytes() / line;
    std::fill_n(sums, integer_panel, 0);
    if (bits_of(format.weights) == 8) {
        for (dim_t i = 0; i < lines; ++i)
            add_sums(group + i * line, ~0u, 0, sums + i % 4 * simd_w);
        return;
    }
    constexpr uint32_t nibbles = 0x0f0f0f0f;
    const bool pairs = has_two_columns(format);
    for (dim_t i = 0; i < lines; ++i) {
        const dim_t lane = pairs ? i % 2 * nr : i % 4 * simd_w;
        add_sums(group + i * line, nibbles, 0, sums + lane);
        add_sums(group + i * line, nibbles, 4,
                sums + lane + (pairs ? simd_w : 0));
    }
}

} // namespace

dim_t integer_repacked_t::panel_bytes() const {
    const dim_t count
            = std::accumulate(k4_blocks.begin(), k4_blocks.end(), dim_t(0));
    return count * k4_bytes()
           + static_cast<dim_t>(k4_blocks.size()) * parameter_bytes();
}

void finish_repacked_group(const integer_repacked_t &layout, size_t g,
        integer_columns_t &columns, uint8_t *group) noexcept {
    struct {
        float scales[integer_panel];
        int32_t zps[integer_panel], sums[integer_panel];
    } lanes;
    uint32_t shorts[integer_panel];
    sum_lanes(layout, g, group, lanes.sums);
    for (dim_t n = 0; n < integer_panel; ++n) {
        const dim_t column = column_of(layout.format, n);
        lanes.scales[n] = columns.scales[column];
        lanes.zps[n] = columns.zps[column];
        shorts[n] = integer_short(lanes.zps[n], lanes.sums[n]);
    }
    uint8_t *to = group + layout.k4_blocks[g] * layout.k4_bytes();
    std::memcpy(to, lanes.scales, sizeof(lanes.scales));
    to += sizeof(lanes.scales);
    if (layout.format.has_short_sums) std::memcpy(to, shorts, sizeof(shorts));
    else std::memcpy(to, lanes.zps, sizeof(lanes.zps) + sizeof(lanes.sums));
}

} // namespace dnnl_dequant
