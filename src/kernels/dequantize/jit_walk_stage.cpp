// The walk's way to scales and zero points: as f32 in the scratch, as a row
// kernel wants them.

#include "kernels/dequantize/jit_walk.hpp"

#include <algorithm>

#include "base/prefetch.hpp"
#include "kernels/dequantize/jit_pack_wide.hpp"

namespace dnnl_dequant {

namespace {

// Elements, of parameters that are staged eight at a time.
constexpr dim_t most_near = 8;
constexpr dim_t f32_bytes = 4;
// Rows whose parameters are worth transposing.
constexpr dim_t least_across = 4;

size_t at(int index) {
    return static_cast<size_t>(index);
}

} // namespace

dim_t jit_walk_t::padded(dim_t cols) const {
    const dim_t width = kernel_.step_width_; // a power of two
    return (cols + width - 1) & -width;
}

// Returns the first group of columns that share parameters. A shift replaces
// the division if it can, since a division is slow.
dim_t jit_walk_t::first_group(dim_t col) const {
    return has_group_table_ ? col / plan_.group_cols : col >> group_shift_;
}

// Returns the floats of parameters that vary along the columns: groups, of
// which the last may be cut off, or whole steps.
dim_t jit_walk_t::staged_cols(const rect_t &rect) const {
    if (plan_.group_cols == 1) return padded(rect.cols);
    return first_group(rect.col + rect.cols - 1) - first_group(rect.col) + 1;
}

// Returns the most floats that any block of columns needs.
dim_t jit_walk_t::most_staged_cols() const {
    return staged_cols({0, 0, 0, 0, plan_.cols.block});
}

// Other rows often have the same parameters.
bool jit_walk_t::is_staged(const rect_t &rect) const {
    if (staged_.rows == 0 || staged_.col != rect.col
            || staged_.cols != rect.cols)
        return false;
    if (plan_.outer_rows && staged_.outer_row != rect.outer_row) return false;
    const bool by_row = plan_.scales_rows || plan_.zps_rows || is_joined(rect)
                        || is_joined(staged_);
    return !by_row || (staged_.row == rect.row && staged_.rows == rect.rows);
}

void jit_walk_t::stage(const rect_t &rect) {
    if (is_staged(rect)) return;
    staged_ = rect;
    if (is_joined(rect)) joined_groups_ = joined_groups(rect);
    const auto &params = plan_.params;
    const bool odd
            = stage_operand({params.scales, plan_.scales_vary,
                                    plan_.scales_rows, params.stage_scales,
                                    params.blocks_of_scales, scratch_.scales},
                    rect);
    staging_t zps {params.zps, plan_.zps_vary, plan_.zps_rows,
            params.stages_of_zps.whole, params.blocks_of_zps, scratch_.zps};
    two_part_ = kernel_.always_two_part_ || odd;
    if (params.zps < 0) scratch_.zps[0] = 0.f;
    if (params.zps < 0) scratch_.zps_high[0] = 0.f;
    if (params.divides) {
        if (params.zps >= 0 && stage_operand(zps, rect)) two_part_ = true;
        invert_scales(rect);
        return;
    }
    if (params.zps < 0) return;
    const bool wants_bias = kernel_.zps_bias_ != 0.f && !two_part_;
    if (wants_bias) {
        zps.blocks = params.blocks_of_biased_zps;
        zps.bias = kernel_.zps_bias_;
    }
    are_biased_ = false;
    if (!kernel_.always_two_part_ && stage_operand(zps, rect)) two_part_ = true;
    if (wants_bias && !are_biased_) bias_zps(rect);
    if (!two_part_ || !kernel_.has_two_part_zps_) return;
    zps.blocks = nullptr;
    zps.stage = params.stages_of_zps.low;
    stage_operand(zps, rect);
    zps.stage = params.stages_of_zps.high;
    zps.to = scratch_.zps_high;
    stage_operand(zps, rect);
}

// Fewer than jit_max_staged, so that 32 bits do, which divide twice as fast.
dim_t jit_walk_t::joined_groups(const rect_t &rect) const {
    const auto group = static_cast<uint32_t>(plan_.rows.inner_extent);
    return div_up(static_cast<uint32_t>(rect.rows), group);
}

void jit_walk_t::invert_scales(const rect_t &rect) {
    const dim_t rows = plan_.scales_rows ? rect.rows : 1;
    invert(scratch_.zps_high, scratch_.scales,
            rows * (plan_.scales_vary ? padded(rect.cols) : 1));
}

// Adds the bias where staging has not.
void jit_walk_t::bias_zps(const rect_t &rect) {
    const dim_t rows = plan_.zps_rows ? rect.rows : 1;
    const dim_t count = rows * staged_cols(rect);
    for (dim_t i = 0; i < count; ++i)
        scratch_.zps[i] += kernel_.zps_bias_;
}

bool jit_walk_t::stage_operand(const staging_t &staging, const rect_t &rect) {
    if (plan_.panel_loop >= 0) return stage_panel_operand(staging, rect);
    if (is_joined(rect)) return stage_groups(staging, rect);
    const int o = staging.operand;
    const dim_t row_stride = plan_.strides[at(o)].row;
    const dim_t rows = staging.by_row ? rect.rows : 1;
    const dim_t first = element(o, rect);
    if (!staging.varies && rows > 1 && staged_pitch(o, rect) > 1)
        return stage_span(
                staging, first, staging.to, (rows - 1) * row_stride + 1);
    if (!staging.varies && row_stride == 1)
        return stage_runs(staging, first, 0, 1, rows);
    if (!staging.varies)
        return staging.stage(staging.to, buffers_[o], first, row_stride, rows);
    return stage_many(staging, first, row_stride, rows, rect);
}

// Stages one group after the other.
bool jit_walk_t::stage_groups(const staging_t &staging, const rect_t &rect) {
    const int o = staging.operand;
    const auto &strides = plan_.strides[at(o)];
    const dim_t groups = joined_groups_;
    const dim_t first = element(o, rect);
    if (!staging.varies)
        return staging.stage(
                staging.to, buffers_[o], first, strides.outer_row, groups);
    return stage_many(staging, first, strides.outer_row, groups, rect);
}

// Stages the parameters that vary along the columns, `count` times, each
// `stride` on. They are staged at once if they stand so.
bool jit_walk_t::stage_many(const staging_t &staging, dim_t first, dim_t stride,
        dim_t count, const rect_t &rect) {
    const dim_t pitch = staged_cols(rect);
    const auto &strides = plan_.strides[at(staging.operand)];
    if (are_runs(staging.operand, rect))
        return stage_runs(
                staging, first + first_group(rect.col), stride, count, pitch);
    if (stride == 1 && count >= least_across && plan_.group_cols > 1)
        return stage_across(staging,
                first + first_group(rect.col) * strides.outer_col, count,
                {strides.outer_col, pitch, pitch});
    if (stride == 1 && count >= least_across && strides.col != 0
            && plan_.cols.outer < 0) {
        const bool wide = stage_across(staging, first + rect.col * strides.col,
                count, {strides.col, rect.cols, pitch});
        complete_steps(staging.to, {count, rect.cols, pitch});
        return wide;
    }
    if (plan_.group_cols == 1 && strides.col == 0 && plan_.cols.inner_extent > 1
            && plan_.cols.inner_extent < most_repeats)
        return stage_repeated(staging, first, stride, count, rect);
    if (plan_.group_cols == 1 && strides.col != 0 && strides.outer_col == 0
            && plan_.cols.outer >= 0 && plan_.cols.inner_extent <= most_period)
        return stage_periods(staging, first, stride, count, rect);
    bool wide = false;
    for (dim_t i = 0; i < count; ++i)
        wide |= stage_cols(
                staging, first + i * stride, staging.to + i * pitch, rect);
    return wide;
}

// Repeats the values of one group of columns in all groups.
bool jit_walk_t::stage_periods(const staging_t &staging, dim_t first,
        dim_t stride, dim_t count, const rect_t &rect) {
    const int o = staging.operand;
    const dim_t inner = plan_.strides[at(o)].col;
    const dim_t period = plan_.cols.inner_extent, skip = rect.col % period;
    const dim_t pitch = padded(rect.cols);
    const int bits = bits_of(problem_.operands[at(o)].type);
    const bool in_blocks = staging.blocks != nullptr && inner == 1
                           && ((first | stride) * bits & 7) == 0;
    auto *values = reinterpret_cast<float *>(scratch_.bounce);
    constexpr dim_t room = jit_bounce_bytes / f32_bytes - staged_slack;
    const dim_t most = room / period;
    bool wide = false;
    for (dim_t r = 0; r < count; r += most) {
        const dim_t rows = std::min(most, count - r);
        const dim_t begin = first + r * stride;
        if (in_blocks)
            wide |= join_and_stage(staging.blocks,
                    {values,
                            static_cast<const char *>(buffers_[o])
                                    + begin * bits / 8,
                            rows, period, period, stride * bits / 8, false, 0},
                    bits);
        else if (inner == 1 && stride == period)
            wide |= stage_span(staging, begin, values, rows * period);
        else
            for (dim_t i = 0; i < rows; ++i)
                wide |= staging.stage(values + i * period, buffers_[o],
                        begin + i * stride, inner, period);
        repeat_periods({staging.to + r * pitch, values, rows, pitch, period},
                period, skip, rect.cols);
    }
    complete_steps(staging.to, {count, rect.cols, pitch});
    return wide;
}

// Stages parameters that lie side by side along the rows: column after column,
// and then transposes them. One row after the other would read each line of
// them several times.
bool jit_walk_t::stage_across(const staging_t &staging, dim_t first, dim_t rows,
        const param_cols_t &cols) {
    const int o = staging.operand;
    const int bits = bits_of(problem_.operands[at(o)].type);
    const dim_t bytes = div_up(rows * bits, dim_t(8));
    auto *values = reinterpret_cast<float *>(scratch_.bounce);
    constexpr dim_t room = jit_bounce_bytes / f32_bytes - staged_slack;
    const dim_t most = std::max<dim_t>(room / rows, 1);
    const bool in_blocks = staging.blocks != nullptr
                           && ((first | cols.stride) * bits & 7) == 0;
    // The next call often takes the next rows.
    const dim_t ahead = plan_.prefetches_params ? bytes : 0;
    const auto *const from = static_cast<const char *>(buffers_[o]);
    bool wide = false;
    for (dim_t c = 0; c < cols.count; c += most) {
        const dim_t count = std::min(most, cols.count - c);
        const dim_t begin = first + c * cols.stride;
        if (in_blocks)
            wide |= join_and_stage(staging.blocks,
                    {values, from + begin * bits / 8, count, rows, rows,
                            cols.stride * bits / 8, false, ahead},
                    bits);
        for (dim_t i = 0; i < count && !in_blocks; ++i) {
            const dim_t each = begin + i * cols.stride;
            if (ahead > 0)
                prefetch_bytes(from + each * bits / 8 + ahead, bytes);
            wide |= stage_span(staging, each, values + i * rows, rows);
        }
        pack_transposed_wide(staging.to + c, cols.pitch,
                {values, rows, rows, count}, 8 * f32_bytes, in_cache);
    }
    return wide;
}

// Repeats the one value of each short group of columns.
bool jit_walk_t::stage_repeated(const staging_t &staging, dim_t first,
        dim_t stride, dim_t count, const rect_t &rect) {
    const dim_t outer = plan_.strides[at(staging.operand)].outer_col;
    const dim_t group = plan_.cols.inner_extent;
    const dim_t before = rect.col / group, skip = rect.col - before * group;
    const dim_t groups = div_up(skip + rect.cols, group);
    const dim_t pitch = padded(rect.cols);
    auto *values = reinterpret_cast<float *>(scratch_.bounce);
    bool wide = false;
    for (dim_t i = 0; i < count; ++i)
        wide |= staging.stage(values + i * groups, buffers_[staging.operand],
                first + i * stride + before * outer, outer, groups);
    repeat_each(
            {staging.to, values, count, pitch, groups}, group, skip, rect.cols);
    complete_steps(staging.to, {count, rect.cols, pitch});
    return wide;
}

// It is dense, and nothing need be added to make it whole steps.
bool jit_walk_t::are_runs(int operand, const rect_t &rect) const {
    const auto &strides = plan_.strides[at(operand)];
    if (plan_.group_cols > 1) return strides.outer_col == 1;
    return strides.col == 1 && plan_.cols.outer < 0
           && rect.cols == padded(rect.cols);
}

// `rows` of what is dense, their pitches `stride` and `count`; of what varies,
// unless it is repeated, whole steps, in the row kernels' order.
bool jit_walk_t::stage_runs(const staging_t &staging, dim_t first, dim_t stride,
        dim_t rows, dim_t count) {
    if (stride == count) return stage_runs(staging, first, 0, 1, rows * count);
    const int o = staging.operand;
    const bool in_steps = staging.varies && plan_.group_cols == 1;
    const bool paired = in_steps && kernel_.paired_;
    const int bits = bits_of(problem_.operands[at(o)].type);
    const bool in_blocks = !paired
                           || (plan_.params.masks_tails
                                   && (count & (staged_block - 1)) == 0);
    const dim_t bytes = div_up(count * bits, dim_t(8));
    const dim_t ahead = bytes_ahead(staging, rows > 1 ? stride : 0, bytes);
    const auto *const from = static_cast<const char *>(buffers_[o]);
    if (staging.blocks != nullptr && in_blocks
            && ((first | stride) * bits & 7) == 0) {
        are_biased_ = staging.bias != 0.f;
        return join_and_stage(staging.blocks,
                {staging.to, from + first * bits / 8, rows, count, count,
                        stride * bits / 8, paired, ahead, staging.bias},
                bits);
    }
    bool wide = false;
    for (dim_t r = 0; r < rows; ++r) {
        const dim_t begin = first + r * stride;
        if (ahead > 0) prefetch_bytes(from + begin * bits / 8 + ahead, bytes);
        wide |= stage_span(staging, begin, staging.to + r * count, count);
    }
    if (in_steps) order(staging.to, rows * count);
    return wide;
}

// Returns the bytes from parameters to those that are prefetched, 0 for none:
// some rows of parameters ahead, or further on in one long row. A row may be
// that of a group of rows. Rows are far from each other in memory, where
// no hardware prefetcher finds them. The next call often begins where this one
// ends.
dim_t jit_walk_t::bytes_ahead(
        const staging_t &staging, dim_t stride, dim_t bytes) const {
    if (!plan_.prefetches_params || bytes == 0) return 0;
    if (stride == 0 && !staging.by_row)
        stride = plan_.strides[at(staging.operand)].outer_row;
    if (stride == 0) return param_bytes_ahead;
    const int bits = bits_of(problem_.operands[at(staging.operand)].type);
    return div_up(param_bytes_ahead, bytes) * stride * bits / 8;
}

// Returns the floats from one row's parameter to the next one's. Rows that are
// near each other are staged together with the numbers between them, which no
// row reads, if reading one by one is slow. It is not for f32 and integers of
// bytes.
dim_t jit_walk_t::staged_pitch(int operand, const rect_t &rect) const {
    if (operand < 0 || plan_.params.divides || is_joined(rect)) return 1;
    const data_type_t type = problem_.operands[at(operand)].type;
    const int bits = bits_of(type);
    const bool dear = bits < 8 || (is_floating(type) && bits < 32);
    const dim_t stride = plan_.strides[at(operand)].row;
    const bool near = stride > 1 && stride <= most_near
                      && rect.rows * stride <= jit_max_staged;
    return dear && near ? stride : 1;
}

bool jit_walk_t::stage_span(
        const staging_t &staging, dim_t first, float *to, dim_t count) {
    const int o = staging.operand;
    // Elements that begin within a byte cannot be read eight at a time.
    const dim_t per_byte
            = std::max(8 / bits_of(problem_.operands[at(o)].type), 1);
    const dim_t head = std::min(count, -first & (per_byte - 1));
    bool wide = staging.stage(to, buffers_[o], first, 1, head);
    wide |= staging.stage(
            to + head, buffers_[o], first + head, 1, count - head);
    return wide;
}

bool jit_walk_t::stage_cols(
        const staging_t &staging, dim_t first, float *to, const rect_t &rect) {
    const int o = staging.operand;
    const auto &cols = plan_.cols;
    const dim_t inner = plan_.strides[at(o)].col;
    const dim_t outer = plan_.strides[at(o)].outer_col;
    if (plan_.group_cols > 1)
        return staging.stage(to, buffers_[o],
                first + first_group(rect.col) * outer, outer,
                staged_cols(rect));
    bool wide = false;
    if (inner == 0) {
        // Repeats the one value of each group, or of all columns.
        const dim_t group = cols.inner_extent;
        const dim_t skip = rect.col % group;
        auto *values = reinterpret_cast<float *>(scratch_.bounce);
        wide = staging.stage(values, buffers_[o],
                first + rect.col / group * outer, outer,
                div_up(skip + rect.cols, group));
        repeat_each(to, values, group, skip, rect.cols);
    } else {
        for (dim_t c = 0, count = 0; c < rect.cols; c += count) {
            const dim_t skip = (rect.col + c) % cols.inner_extent;
            const dim_t group = (rect.col + c) / cols.inner_extent;
            count = std::min(rect.cols - c, cols.inner_extent - skip);
            wide |= staging.stage(to + c, buffers_[o],
                    first + group * outer + skip * inner, inner, count);
        }
    }
    complete_steps(to, {1, rect.cols, padded(rect.cols)});
    return wide;
}

// Makes rows of parameters whole steps, in the order that row kernels read.
void jit_walk_t::complete_steps(
        float *rows, const staged_steps_t &steps) const {
    for (dim_t r = 0; r < steps.rows; ++r)
        std::fill(rows + r * steps.pitch + steps.cols,
                rows + (r + 1) * steps.pitch, 1.f);
    order(rows, steps.rows * steps.pitch);
}

// Orders parameters that vary in the whole steps that row kernels read.
void jit_walk_t::order(float *values, dim_t count) const {
    if (!kernel_.paired_) return;
    pair_blocks(values, count, static_cast<int>(kernel_.step_width_ / 2));
}

} // namespace dnnl_dequant
