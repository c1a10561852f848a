// A block of a product around run(): columns that are no whole panel, the
// scales of rows, and sums that kernels cannot make, or not exactly. A group's
// f32 sum may overflow before it is scaled, or a scale that a unit of weights
// multiplies, though the product of scaled weights is finite. So may a sum of
// nibbles in place, or src that is scaled for them. Zero points may be far from
// all weights. Such sums are computed one by one.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bits.hpp"
#include "kernels/skinny_gemm/scaled_sums.hpp"

namespace dnnl_dequant {

namespace {

bool are_near(const float *zps, dim_t count) {
    return greatest_magnitude(zps, count)
           <= static_cast<int32_t>(bits_of_f32(skinny_gemm_t::farthest_zp));
}

// The bits of the least scale, and of the first one beyond, that make ordinary
// weights. Numbers less their zero points are multiples of 1/2, below 2^9 or,
// with zero points of more than 8 bits, below 2^17.
struct ordinary_scales_t {
    uint32_t begin, end;
};
ordinary_scales_t ordinary_scales_of(const skinny_weights_t &weights) {
    const bool is_bf16 = weights.rounded == data_type_t::bf16;
    const float most = weights.zps.type == data_type_t::undef
                                       || bits_of(weights.zps.type) <= 8
                               ? 0x1p9f
                               : 0x1p17f;
    return {bits_of_f32(is_bf16 ? 0x1p-125f : 0x1p-13f),
            bits_of_f32((is_bf16 ? 0x1p111f : 0x1p15f) / most)};
}

// The compiler vectorizes this loop.
bool are_ordinary(
        const float *scales, dim_t count, const ordinary_scales_t &range) {
    constexpr uint32_t no_sign = 0x7fffffff;
    uint32_t others = 0;
    for (dim_t i = 0; i < count; ++i) {
        const uint32_t size = bits_of_f32(scales[i]) & no_sign;
        const uint32_t outside = size - range.begin >= range.end - range.begin;
        others |= outside & static_cast<uint32_t>(size != 0);
    }
    return others == 0;
}

// After run(), multiplies each row's sums by its scale.
void scale_rows(const skinny_gemm_t::block_t &block) noexcept {
    if (!block.row_scales) return;
    for (dim_t r = 0; r < block.rows; ++r) {
        const float scale = block.row_scales[r];
        float *const c = block.c + r * block.c_pitch;
        for (dim_t n = 0; n < block.cols; ++n)
            c[n] *= scale;
    }
}

} // namespace

// arrange() moves bits, whatever they are: here a digit of each element's
// number, from 1 on, because zeros fill the last unit.
template <typename bits_t>
std::vector<dim_t> skinny_gemm_t::places_of_src_as(dim_t row_elements) const {
    constexpr dim_t base = dim_t(1) << 15;
    std::vector<dim_t> numbers(static_cast<size_t>(row_elements), 0);
    std::vector<bits_t> row(numbers.size());
    for (dim_t unit = 1; unit <= weights_.depth; unit *= base) {
        std::fill(row.begin(), row.end(), bits_t(0));
        for (dim_t k = 0; k < weights_.depth; ++k)
            row[static_cast<size_t>(k)]
                    = static_cast<bits_t>((k + 1) / unit % base);
        arrange(row.data());
        for (size_t at = 0; at < row.size(); ++at)
            numbers[at] += row[at] * unit;
    }
    std::vector<dim_t> places(static_cast<size_t>(weights_.depth));
    for (size_t at = 0; at < numbers.size(); ++at)
        if (numbers[at] > 0)
            places[static_cast<size_t>(numbers[at]) - 1]
                    = static_cast<dim_t>(at);
    return places;
}

void skinny_gemm_t::init_multiply(
        std::shared_ptr<const skinny_gemm_t> of_ordinary_weights) {
    of_ordinary_weights_ = std::move(of_ordinary_weights);
    const bool needs_places = scales_sums() || weights_.may_have_far_zps();
    const dim_t unit = src_unit();
    if (!needs_places || unit == 1 || packs_src()) return;
    const dim_t elements = round_up(weights_.depth, unit);
    places_of_src_ = src_type() == data_type_t::f32
                             ? places_of_src_as<uint32_t>(elements)
                             : places_of_src_as<uint16_t>(elements);
}

void skinny_gemm_t::multiply(
        void *const *buffers, const block_t &block, void *room) const noexcept {
    if (has_far_zps(block)) {
        for (dim_t r = 0; r < block.rows; ++r)
            run_plainly(buffers, block, r);
        return;
    }
    const bool is_ordinary
            = of_ordinary_weights_ && has_ordinary_weights(block);
    const skinny_gemm_t &kernel = is_ordinary ? *of_ordinary_weights_ : *this;
    kernel.run_with_rest(buffers, block, room);
    scale_rows(block);
    kernel.redo_overflow(buffers, block);
}

// Does what run() does. The columns of [K,N] weights behind the last whole
// panel are copied next to zeros.
void skinny_gemm_t::run_with_rest(
        void *const *buffers, const block_t &block, void *room) const noexcept {
    const dim_t rest = rest_of(block.cols), whole = block.cols - rest;
    if (rest == 0) return run(buffers, block);
    block_t part = block;
    part.cols = whole;
    if (whole > 0) run(buffers, part);

    const dim_t bytes = bytes_of(weights_.type, nr());
    const auto taken = static_cast<size_t>(bytes_of(weights_.type, rest));
    const auto *from = static_cast<const char *>(buffers[0])
                       + bytes_of(weights_.type, block.first_col + whole);
    auto *const copied = static_cast<char *>(room);
    std::fill_n(copied, rest_bytes(block.cols), 0);
    for (dim_t k = 0; k < weights_.depth; ++k, from += row_bytes(block))
        std::memcpy(copied + k * bytes, from, taken);
    part.copied_pitch = nr();
    part.first_col = 0;
    part.cols = nr();
    // Only kernels of [N,K] weights have parameters by column.
    part.scales += whole;
    part.zps += whole;
    part.c += whole;
    run(&room, part);
}

// Calls check(values, count) for all scales, or all zero points, of a block, as
// long as it returns true.
template <typename check_t>
bool skinny_gemm_t::all_parameters(const block_t &block,
        const float *parameters, const check_t &check) const noexcept {
    const dim_t groups = weights_.groups(), shared_by = weights_.col_group;
    // The memory has those of all columns if columns share them.
    const dim_t first = shared_by > 1 ? block.first_col / shared_by : 0;
    const dim_t cols
            = shared_by > 1
                      ? div_up(block.first_col + block.cols, shared_by) - first
                      : block.cols;
    const bool by_column = parameters_by_column();
    const dim_t pitch = shared_by > 1 ? block.parameters_pitch
                        : by_column   ? groups
                                      : block.c_pitch;
    if (by_column && pitch == groups)
        return check(parameters + first * pitch, cols * groups);
    const float *row = parameters + (by_column ? first * pitch : first);
    for (dim_t r = 0; r < (by_column ? cols : groups); ++r, row += pitch)
        if (!check(row, by_column ? groups : cols)) return false;
    return true;
}

// True if a zero point of a block is farther from 0 than kernels take.
bool skinny_gemm_t::has_far_zps(const block_t &block) const noexcept {
    if (!weights_.may_have_far_zps()) return false;
    // Threads decide which columns a block has, but not the order of its sums.
    block_t all = block;
    if (weights_.col_group > 1) {
        all.first_col = 0;
        all.cols = weights_.cols;
    }
    return !all_parameters(all, block.zps, are_near);
}

bool skinny_gemm_t::has_ordinary_weights(const block_t &block) const noexcept {
    const ordinary_scales_t range = ordinary_scales_of(weights_);
    return all_parameters(
            block, block.scales, [range](const float *scales, dim_t count) {
        return are_ordinary(scales, count, range);
    });
}

// Returns a function of elements, in the order of the depth, times the row's
// scale.
auto skinny_gemm_t::scaled_src(const block_t &block, dim_t row) const noexcept {
    const float scale = block.row_scales ? block.row_scales[row] : 1;
    return [this, &block, row, scale](dim_t k) {
        const dim_t place = places_of_src_.empty()
                                    ? k
                                    : places_of_src_[static_cast<size_t>(k)];
        return src_element(block, row, place) * scale;
    };
}

// Computes a row element by element: for all zero points, and all numbers of
// src. This is slow, but both are rare.
void skinny_gemm_t::run_plainly(
        void *const *buffers, const block_t &block, dim_t row) const noexcept {
    const scaled_sums_t sums(weights_, buffers);
    const auto src = scaled_src(block, row);
    for (dim_t n = 0; n < block.cols; ++n)
        block.c[row * block.c_pitch + n] = sums.sum(block.first_col + n, src);
}

// Recomputes sums that are not finite by src and weights that are scaled first.
void skinny_gemm_t::redo_overflow(
        void *const *buffers, const block_t &block) const noexcept {
    if (!scales_sums()) return;
    const scaled_sums_t sums(weights_, buffers);
    for (dim_t r = 0; r < block.rows; ++r) {
        float *const c = block.c + r * block.c_pitch;
        if (are_finite(c, block.cols)) continue;
        // If src is not finite, neither is its sum, in whatever way it is
        // computed.
        bool is_finite
                = !block.row_scales || std::isfinite(block.row_scales[r]);
        for (dim_t k = 0; k < weights_.depth && is_finite; ++k)
            is_finite = std::isfinite(src_element(block, r, k));
        if (is_finite)
            sums.redo(c, block.first_col, block.cols, scaled_src(block, r));
        else if (!takes_any_src()) run_plainly(buffers, block, r);
    }
}

} // namespace dnnl_dequant
