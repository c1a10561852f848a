#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/convert.hpp"

namespace dnnl_dequant {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
// e^-x is 0 as f32 from here on.
constexpr float vanishes_from = 104.f;
// One core computes as many products in the time of a parallel region.
constexpr dim_t products_per_thread = 256 * 1024;
constexpr dim_t floats_a_line = 16;

void scale(float *values, dim_t count, float by) {
    for (dim_t i = 0; i < count; ++i)
        values[i] *= by;
}

// The factor of the sums so far, when the maximum grows.
float correction(float before, float after) {
    return before == after ? 1.f : std::exp(before - after);
}

} // namespace

struct attention_kernel_t::memory_t {
    float *query, *keys, *values, *tile, *sums;
    // One a row: the largest score so far, the sum of e^(score - maximum), what
    // is added to its scores, and what a block of tokens gives.
    float *maxima, *totals, *shifts, *of_block;
};

attention_kernel_t::attention_kernel_t(attention_plan_t plan)
    : plan_(std::move(plan))
    , name_(std::string("attention_")
              + (plan_.keys ? plan_.keys->name() : "of_nothing")) {
    for (const auto &block : plan_.row_blocks)
        most_rows_ = std::max(most_rows_, block.rows);
    dim_t tokens = 0;
    for (const dim_t block : plan_.token_blocks) {
        first_tokens_.push_back(tokens);
        tokens += block;
    }
    dim_t at = 0;
    const auto take = [&at](dim_t floats) {
        const dim_t place = at;
        at += round_up(floats, floats_a_line);
        return place;
    };
    places_.query = take(most_rows_ * plan_.head);
    // There is no product with keys if heads have no numbers, and none with
    // values if those have no columns.
    places_.keys
            = take(plan_.keys ? plan_.keys->scratch_floats(most_rows_) : 0);
    places_.values
            = take(plan_.values ? plan_.values->scratch_floats(most_rows_) : 0);
    places_.tile = take(most_rows_ * plan_.tile_pitch);
    places_.sums = take(most_rows_ * plan_.cols_pitch);
    places_.maxima = take(most_rows_);
    places_.totals = take(most_rows_);
    places_.shifts = take(most_rows_);
    places_.of_block = take(most_rows_);
    places_.end = at;
}

dim_t attention_kernel_t::splits() const {
    const size_t blocks = plan_.token_blocks.size();
    if (blocks == 0 || plan_.blocks_a_split == 0) return 1;
    return static_cast<dim_t>(div_up(blocks, plan_.blocks_a_split));
}

// Sums, maxima and totals of a split.
dim_t attention_kernel_t::partial_floats() const {
    return round_up(most_rows_ * (plan_.cols_pitch + 2), floats_a_line);
}

// A unit is a split of a block of rows.
status_t attention_kernel_t::run_unit(const stage_memory_t &memory, dim_t unit,
        bool is_first) const noexcept {
    const auto row_block = static_cast<size_t>(unit / splits());
    const auto split = static_cast<size_t>(unit % splits());
    auto *const base = static_cast<float *>(memory.own);
    memory_t own {base + places_.query, base + places_.keys,
            base + places_.values, base + places_.tile, base + places_.sums,
            base + places_.maxima, base + places_.totals, base + places_.shifts,
            base + places_.of_block};
    if (splits() > 1) {
        own.sums
                = static_cast<float *>(memory.shared) + unit * partial_floats();
        own.maxima = own.sums + most_rows_ * plan_.cols_pitch;
        own.totals = own.maxima + most_rows_;
    }
    // All splits of a block of rows have the same query.
    if (split == 0 || is_first) load_query(memory, row_block, own);
    const size_t all = plan_.token_blocks.size();
    const size_t many = splits() > 1 ? plan_.blocks_a_split : all;
    const status_t status = attend(memory, row_block, split * many,
            std::min(split * many + many, all), own);
    if (status == status_t::success && splits() == 1)
        store(memory, row_block, own);
    return status;
}

status_t attention_kernel_t::attend(const stage_memory_t &memory,
        size_t row_block, size_t begin, size_t end,
        const memory_t &own) const noexcept {
    const dim_t rows = plan_.row_blocks[row_block].rows;
    std::fill_n(own.maxima, rows, -infinity);
    std::fill_n(own.totals, rows, 0.f);
    bool is_first = true;
    for (size_t block = begin; block < end; ++block) {
        if (counts_for_nothing(memory, row_block, block, own)) continue;
        status_t status = compute_scores(memory, row_block, block, own);
        if (status == status_t::success)
            status = weigh(memory, row_block, block, is_first, own);
        if (status != status_t::success) return status;
        is_first = false;
    }
    if (is_first) std::fill_n(own.sums, rows * plan_.cols_pitch, 0.f);
    return status_t::success;
}

attention_tile_t attention_kernel_t::tile_of(size_t row_block,
        size_t token_block, size_t outer, const memory_t &own) const noexcept {
    return {outer, token_block, plan_.row_blocks[row_block].rows,
            plan_.token_blocks[token_block], own.tile, plan_.tile_pitch};
}

void attention_kernel_t::load_query(const stage_memory_t &memory,
        size_t row_block, const memory_t &own) const noexcept {
    if (plan_.head == 0) return;
    std::array<void *, max_operands> at {};
    std::copy_n(memory.buffers + plan_.query_operands.first,
            plan_.query_operands.count, at.begin());
    at[plan_.query_operands.count] = own.query;
    plan_.query.run({row_block, 0, 0}, at.data());
    plan_.keys->begin(own.query, plan_.row_blocks[row_block].rows, own.keys);
}

status_t attention_kernel_t::compute_scores(const stage_memory_t &memory,
        size_t row_block, size_t token_block,
        const memory_t &own) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    if (plan_.head == 0)
        std::fill_n(own.tile, rows.rows * plan_.tile_pitch, 0.f);
    else if (const status_t status
             = plan_.keys->run(memory.buffers + plan_.keys_operands.first,
                     tile_of(row_block, token_block, rows.keys, own), own.query,
                     own.keys);
            status != status_t::success)
        return status;
    std::array<void *, max_operands> at {};
    for (const attention_part_t &part : plan_.parts) {
        if (part.steps.operand_count() > 0) {
            at[0] = own.tile;
            std::copy_n(memory.buffers + part.operands.first,
                    part.operands.count, at.begin() + 1);
            at[part.operands.count + 1] = own.tile;
            part.steps.run({row_block, token_block, 0}, at.data());
        }
        if (part.mask.kind != attention_mask_t::kind_t::none)
            apply_mask(memory, part.mask, row_block, token_block, own.tile);
    }
    return status_t::success;
}

// The last token that counts for a row, by a causal mask.
dim_t attention_kernel_t::last_token(const stage_memory_t &memory,
        const attention_mask_t &mask, dim_t row) const noexcept {
    dim_t last = row % plan_.scores[plan_.scores.size() - 2];
    for (const auto &offset : mask.offsets) {
        const dim_t by
                = load_int(data_type_t::s32, memory.buffers[offset.operand], 0);
        last += offset.is_subtracted ? -by : by;
    }
    return last;
}

void attention_kernel_t::apply_mask(const stage_memory_t &memory,
        const attention_mask_t &mask, size_t row_block, size_t token_block,
        float *tile) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    const dim_t begin = first_tokens_[token_block];
    const dim_t count = plan_.token_blocks[token_block];
    const float fill = load_f32(mask.fill_type, memory.buffers[mask.fill], 0);
    const auto *const condition
            = static_cast<const uint8_t *>(memory.buffers[mask.condition]);
    for (dim_t r = 0; r < rows.rows; ++r) {
        const dim_t row = rows.first + r;
        float *const scores = tile + r * plan_.tile_pitch;
        if (mask.kind == attention_mask_t::kind_t::causal) {
            // Up to there the condition is true.
            const dim_t kept = std::clamp<dim_t>(
                    last_token(memory, mask, row) + 1 - begin, 0, count);
            if (mask.keeps_where_true)
                std::fill(scores + kept, scores + count, fill);
            else std::fill(scores, scores + kept, fill);
            continue;
        }
        const size_t along = mask.strides.size() - 1;
        dim_t rest = row, place = begin * mask.strides[along];
        for (size_t d = along; d-- > 0;) {
            place += rest % plan_.scores[d] * mask.strides[d];
            rest /= plan_.scores[d];
        }
        for (dim_t t = 0; t < count; ++t) {
            const bool is_true = condition[place + t * mask.strides[along]];
            if (is_true != mask.keeps_where_true) scores[t] = fill;
        }
    }
}

// A tile that a causal mask, the last of the parts, fills whole, with what
// weighs 0 next to the scores that were met already. The bits are those of
// computing it, unless a value is infinite or NaN.
bool attention_kernel_t::counts_for_nothing(const stage_memory_t &memory,
        size_t row_block, size_t token_block,
        const memory_t &own) const noexcept {
    if (plan_.parts.size() < 2 || plan_.parts.back().steps.operand_count() > 0)
        return false;
    const attention_mask_t &mask = plan_.parts[plan_.parts.size() - 2].mask;
    if (mask.kind != attention_mask_t::kind_t::causal || !mask.keeps_where_true)
        return false;
    const float fill = load_f32(mask.fill_type, memory.buffers[mask.fill], 0);
    const auto &rows = plan_.row_blocks[row_block];
    for (dim_t r = 0; r < rows.rows; ++r) {
        if (last_token(memory, mask, rows.first + r)
                >= first_tokens_[token_block])
            return false;
        if (fill != -infinity && !(own.maxima[r] - fill > vanishes_from))
            return false;
    }
    return true;
}

// Adds a block of tokens: scores become e^(score - maximum), and multiply the
// values.
status_t attention_kernel_t::weigh(const stage_memory_t &memory,
        size_t row_block, size_t token_block, bool is_first,
        const memory_t &own) const noexcept {
    const dim_t rows = plan_.row_blocks[row_block].rows;
    const dim_t tokens = plan_.token_blocks[token_block];
    const softmax_rows_t::block_t block {
            own.tile, plan_.tile_pitch, rows, tokens};
    plan_.softmax->find_largest(block, own.of_block);
    for (dim_t r = 0; r < rows; ++r) {
        const float before = own.maxima[r];
        const float after = std::max(before, own.of_block[r]);
        const float by = correction(before, after);
        own.maxima[r] = after;
        // A row of -infinity alone has weights of 0: exp(-infinity - 0).
        own.shifts[r] = after == -infinity ? 0.f : -after;
        own.totals[r] *= by;
        if (!is_first && by != 1.f)
            scale(own.sums + r * plan_.cols_pitch, plan_.cols, by);
    }
    plan_.softmax->weigh(block, own.shifts, own.of_block);
    for (dim_t r = 0; r < rows; ++r)
        own.totals[r] += own.of_block[r];
    if (!plan_.values) return status_t::success;
    return plan_.values->run(memory.buffers + plan_.values_operands.first,
            tile_of(row_block, token_block, plan_.row_blocks[row_block].values,
                    own),
            own.sums, plan_.cols_pitch, !is_first, own.values);
}

void attention_kernel_t::store_stats(const stage_memory_t &memory,
        size_t row_block, const memory_t &own) const noexcept {
    const auto &rows = plan_.row_blocks[row_block];
    auto *const stats = static_cast<float *>(memory.buffers[plan_.stats]);
    for (dim_t r = 0; r < rows.rows; ++r) {
        dim_t rest = rows.first + r, place = 0;
        for (size_t d = plan_.stats_strides.size(); d-- > 0;) {
            place += rest % plan_.scores[d] * plan_.stats_strides[d];
            rest /= plan_.scores[d];
        }
        const float sum = std::log(own.totals[r]);
        stats[place] = own.maxima[r] == -infinity && !std::isnan(sum)
                               ? -infinity
                               : own.maxima[r] + sum;
    }
}

// The sums, over what all weights add up to, to dst.
void attention_kernel_t::store(const stage_memory_t &memory, size_t row_block,
        const memory_t &own) const noexcept {
    const dim_t rows = plan_.row_blocks[row_block].rows;
    if (plan_.stats != 0) store_stats(memory, row_block, own);
    for (dim_t r = 0; r < rows; ++r) {
        float *const sums = own.sums + r * plan_.cols_pitch;
        const bool is_masked
                = own.maxima[r] == -infinity && !std::isnan(own.totals[r]);
        if (plan_.token_blocks.empty()
                || (is_masked && plan_.masked_rows_are_zero)) {
            std::fill_n(sums, plan_.cols, 0.f);
            continue;
        }
        // 0 / 0 where all are masked.
        for (dim_t c = 0; c < plan_.cols; ++c)
            sums[c] /= own.totals[r];
    }
    std::array<void *, max_operands> at {own.sums};
    std::copy_n(memory.buffers + plan_.result_operands.first,
            plan_.result_operands.count, at.begin() + 1);
    plan_.result.run({row_block, 0, 0}, at.data());
}

// In the order of the splits, whoever computed them.
void attention_kernel_t::join_splits(
        const stage_memory_t &memory, dim_t block) const noexcept {
    const auto row_block = static_cast<size_t>(block);
    const dim_t rows = plan_.row_blocks[row_block].rows;
    float *const first = static_cast<float *>(memory.shared)
                         + block * splits() * partial_floats();
    memory_t all {};
    all.sums = first;
    all.maxima = first + most_rows_ * plan_.cols_pitch;
    all.totals = all.maxima + most_rows_;
    for (dim_t s = 1; s < splits(); ++s) {
        const float *const sums = first + s * partial_floats();
        const float *const maxima = sums + most_rows_ * plan_.cols_pitch;
        const float *const totals = maxima + most_rows_;
        for (dim_t r = 0; r < rows; ++r) {
            const float after = std::max(all.maxima[r], maxima[r]);
            const float of_all = correction(all.maxima[r], after);
            const float of_split = correction(maxima[r], after);
            all.maxima[r] = after;
            all.totals[r] = all.totals[r] * of_all + totals[r] * of_split;
            float *const to = all.sums + r * plan_.cols_pitch;
            const float *const from = sums + r * plan_.cols_pitch;
            for (dim_t c = 0; c < plan_.cols; ++c)
                to[c] = to[c] * of_all + from[c] * of_split;
        }
    }
    store(memory, row_block, all);
}

workload_t make_workload(
        const std::shared_ptr<const attention_kernel_t> &attention) {
    const attention_plan_t &plan = attention->plan_;
    const auto blocks = static_cast<dim_t>(plan.row_blocks.size());
    const dim_t splits = attention->splits();
    dim_t work = plan.head + plan.cols;
    for (const dim_t dim : plan.scores)
        work *= dim;
    const dim_t threads = std::min(blocks * splits, work / products_per_thread);
    workload_t workload;
    workload.scratch.own = 4 * attention->places_.end;
    workload.stages.push_back({blocks * splits, threads, true,
            [attention](const stage_memory_t &memory, dim_t begin, dim_t end) {
        status_t status = status_t::success;
        for (dim_t unit = begin; unit < end && status == status_t::success;
                ++unit)
            status = attention->run_unit(memory, unit, unit == begin);
        return status;
    }});
    if (splits == 1) return workload;
    workload.scratch.shared = 4 * blocks * splits * attention->partial_floats();
    workload.stages.push_back({blocks, std::min(threads, blocks), false,
            [attention](const stage_memory_t &memory, dim_t begin, dim_t end) {
        for (dim_t block = begin; block < end; ++block)
            attention->join_splits(memory, block);
        return status_t::success;
    }});
    return workload;
}

} // namespace dnnl_dequant
