#include "kernels/quantize/dynamic_quantize.hpp"

#include <algorithm>
#include <array>

namespace dnnl_dequant {

namespace {

constexpr size_t max_buffers = 4;

// Parameters of this many groups are made at once, in vectors.
constexpr dim_t groups_at_once = 32;

struct parameters_t {
    float scales[groups_at_once];
    int zps[groups_at_once];
};

float clip(float value, float lower, float upper) {
    return std::min(std::max(value, lower), upper);
}

// To nearest, even at ties, of what is at most 2^22; without a call, which is
// dear where there is a scale for every hundred elements.
int nearest_small_int(float value) {
    constexpr float ulp_is_one = 0x1.8p23f;
    return static_cast<int>((value + ulp_is_one) - ulp_is_one);
}

// Loops without branches, of which compilers make vectors.
void make_symmetric(
        const range_t *ranges, dim_t count, parameters_t &made) noexcept {
    for (dim_t i = 0; i < count; ++i) {
        const float above = ranges[i].above, below = ranges[i].below;
        const float most = above < below ? below : above;
        made.scales[i] = (most == 0.f ? 127.f : most) / 127.f;
        made.zps[i] = 0;
    }
}

void make_with_zps(const range_t *ranges, dim_t count, bool is_u8,
        parameters_t &made) noexcept {
    const float lowest = is_u8 ? 0.f : -127.f, highest = is_u8 ? 255.f : 127.f;
    const float steps = highest - lowest;
    for (dim_t i = 0; i < count; ++i) {
        const float below = ranges[i].below;
        const float width = ranges[i].above + below;
        const float scale = (width == 0.f ? steps : width) / steps;
        const float zp = lowest + below / scale;
        const float kept = zp != zp ? 0.f : zp;
        made.scales[i] = scale;
        made.zps[i] = nearest_small_int(clip(kept, lowest, highest));
    }
}

} // namespace

std::string dynamic_name_of(const std::string &kernel) {
    for (const std::string family : {"elementwise", "quantize"}) {
        const size_t at = kernel.find(family);
        if (at != std::string::npos)
            return kernel.substr(0, at) + "dynamic_quantize"
                   + kernel.substr(at + family.size());
    }
    return kernel;
}

dim_t range_parameters_t::count() const {
    dim_t product = 1;
    for (const dim_t groups : grid)
        product *= groups;
    return product;
}

void range_parameters_t::finish(
        const range_t *ranges, float *scales, void *zps) const {
    const bool is_u8 = type == data_type_t::u8;
    auto *const bytes = static_cast<unsigned char *>(zps);
    const row_t row = innermost_row();
    dims_t index(row.dimension, 0);
    dim_t scale_at = 0, zp_at = 0;
    const auto step = [&](size_t d, dim_t iterations) {
        index[d] += iterations;
        scale_at += iterations * scale_strides[d];
        if (has_zps) zp_at += iterations * zps_strides[d];
    };
    const dim_t groups = count();
    for (dim_t g = 0; g < groups; g += row.count) {
        for (dim_t first = 0; first < row.count; first += groups_at_once) {
            const dim_t together = std::min(row.count - first, groups_at_once);
            const range_t *const from = ranges + g + first;
            parameters_t made;
            if (has_zps) make_with_zps(from, together, is_u8, made);
            else make_symmetric(from, together, made);
            float *const to = scales + scale_at + first * row.scale_step;
            for (dim_t i = 0; i < together; ++i)
                to[i * row.scale_step] = made.scales[i];
            if (!has_zps) continue;
            unsigned char *const zp_to = bytes + zp_at + first * row.zp_step;
            for (dim_t i = 0; i < together; ++i)
                zp_to[i * row.zp_step]
                        = static_cast<unsigned char>(made.zps[i]);
        }
        for (size_t d = row.dimension; d-- > 0;) {
            step(d, 1);
            if (index[d] < grid[d]) break;
            step(d, -index[d]);
        }
    }
}

range_parameters_t::row_t range_parameters_t::innermost_row() const {
    row_t row;
    row.dimension = grid.size();
    for (size_t d = grid.size(); d-- > 0; row.dimension = d) {
        if (grid[d] == 1) continue;
        const dim_t zp_step = has_zps ? zps_strides[d] : 0;
        if (row.count == 1) {
            row.scale_step = scale_strides[d];
            row.zp_step = zp_step;
        } else if (scale_strides[d] != row.scale_step * row.count
                   || zp_step != row.zp_step * row.count) {
            break;
        }
        row.count *= grid[d];
    }
    return row;
}

dynamic_quantize_t::dynamic_quantize_t(
        part_t whole, part_t rest, dim_t slabs, std::vector<dim_t> slab_bytes)
    : whole_(std::move(whole))
    , rest_(std::move(rest))
    , slabs_(slabs)
    , slab_bytes_(std::move(slab_bytes))
    , name_(dynamic_name_of(whole_.quantize->name())) {}

void dynamic_quantize_t::finish(
        const part_t &part, const range_t *ranges, void *const *buffers) {
    part.parameters.finish(ranges, static_cast<float *>(buffers[1]),
            part.parameters.has_zps ? buffers[2] : nullptr);
}

void dynamic_quantize_t::run(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    range_t ranges[most_groups];
    for (dim_t slab = begin; slab < end; ++slab) {
        const bool is_rest = slab + 1 == slabs_ && rest_.quantize != nullptr;
        const part_t &part = is_rest ? rest_ : whole_;
        std::array<void *, max_buffers> at {};
        for (size_t b = 0; b < slab_bytes_.size(); ++b)
            at[b] = static_cast<char *>(buffers[b]) + slab * slab_bytes_[b];
        std::fill(ranges, ranges + part.parameters.count(), range_t());
        void *const of_ranges[] = {at[0], ranges};
        part.ranges->run(of_ranges, 0, part.ranges->work_amount());
        finish(part, ranges, at.data());
        part.quantize->run(at.data(), 0, part.quantize->work_amount());
    }
}

workload_t make_workload(
        const std::shared_ptr<const dynamic_quantize_t> &kernel, dim_t bytes) {
    if (kernel->in_slabs()) return {{}, {make_stage(kernel, bytes)}};
    const auto &whole = kernel->whole();
    const dim_t groups = whole.parameters.count();
    const auto ranges_in = [](const stage_memory_t &memory) {
        return static_cast<range_t *>(memory.shared);
    };
    const auto clear = [=](const stage_memory_t &memory) {
        std::fill_n(ranges_in(memory), groups, range_t());
    };
    const auto of_ranges = [](const stage_memory_t &memory, void **buffers) {
        buffers[0] = memory.buffers[0];
        buffers[1] = memory.shared;
    };
    const auto finish = [=](const stage_memory_t &memory) {
        kernel->finish(ranges_in(memory), memory.buffers);
    };
    return {{groups * static_cast<dim_t>(sizeof(range_t)), 0},
            {make_serial_stage(clear),
                    make_stage(whole.ranges, bytes, of_ranges),
                    make_serial_stage(finish),
                    make_stage(whole.quantize, bytes)}};
}

} // namespace dnnl_dequant
