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

void scale(const float *values, dim_t count, float by, float *to) {
    for (dim_t i = 0; i < count; ++i)
        to[i] = values[i] * by;
}

// Returns an operand of a plain copy of f32, which spares the copy; null if
// the block is none, or if a user's floats begin at an odd byte.
float *as_it_lies(const block_kernels_t &kernels,
        const block_kernels_t::index_t &block, size_t operand,
        void *const *buffers) {
    if (!kernels.is_copy(block)) return nullptr;
    void *const at = kernels.address_of(block, operand, buffers);
    const bool is_aligned
            = reinterpret_cast<uintptr_t>(at) % alignof(float) == 0;
    return is_aligned ? static_cast<float *>(at) : nullptr;
}

// The factor of the sums so far, when the maximum grows.
float correction(float before, float after) {
    return before == after ? 1.f : std::exp(before - after);
}

} // namespace

// A block of rows and the sums of the tokens that it has met so far.
struct attention_kernel_t::state_t {
    size_t row_block = 0;
    float *query = nullptr; // arranged
    float *sums = nullptr;
    // One a row: the largest score, and the sum of e^(score - maximum).
    float *maxima = nullptr, *totals = nullptr;
    bool has_sums = false;

    void place_sums(float *at, dim_t rows, dim_t pitch) {
        sums = at;
        maxima = sums + rows * pitch;
        totals = maxima + rows;
    }
};

// Blocks of rows that meet a block of tokens one after the other.
struct attention_kernel_t::together_t {
    std::array<state_t, most_together> states;
    size_t count = 0;
};

// A thread's memory.
struct attention_kernel_t::memory_t {
    const stage_memory_t &all;
    // A block of rows as the query has them, scratch memory of the products, a
    // block of scores.
    float *query, *keys, *values, *tile;
    // One a row: what is added to its scores, and what a block of tokens gives.
    float *shifts, *of_block;
};

attention_kernel_t::attention_kernel_t(attention_plan_t plan)
    : plan_(std::move(plan))
    , name_(std::string("attention_")
              + (plan_.keys ? plan_.keys->name() : "of_nothing"))
    , shares_(make_shares()) {
    for (const auto &block : plan_.row_blocks)
        most_rows_ = std::max(most_rows_, block.rows);
    if (plan_.keys)
        arranged_floats_ = round_up(
                plan_.keys->arranged_floats(most_rows_), floats_a_line);
    dim_t tokens = 0;
    for (const dim_t block : plan_.token_blocks) {
        first_tokens_.push_back(tokens);
        tokens += block;
    }
    places_ = make_places();
}

std::vector<attention_kernel_t::share_t>
attention_kernel_t::make_shares() const {
    std::vector<share_t> shares;
    dim_t rows = 0; // of the last share
    for (size_t b = 0; b < plan_.row_blocks.size(); ++b) {
        const auto &block = plan_.row_blocks[b];
        const bool joins = b > 0 && block.keys == plan_.row_blocks[b - 1].keys
                           && block.values == plan_.row_blocks[b - 1].values
                           && rows + block.rows <= plan_.most_rows_together
                           && shares.back().count < most_together;
        if (!joins) {
            shares.push_back({b, 0, static_cast<dim_t>(b) * splits()});
            rows = 0;
        }
        ++shares.back().count;
        rows += block.rows;
    }
    return shares;
}

attention_kernel_t::places_t attention_kernel_t::make_places() const {
    places_t places {};
    dim_t at = 0;
    const auto take = [&at](dim_t floats) {
        const dim_t place = at;
        at += round_up(floats, floats_a_line);
        return place;
    };
    places.query = take(most_rows_ * plan_.head);
    // There is no product with keys if heads have no numbers, and none with
    // values if those have no columns.
    places.keys = take(plan_.keys ? plan_.keys->scratch_floats(most_rows_) : 0);
    places.values
            = take(plan_.values ? plan_.values->scratch_floats(most_rows_) : 0);
    places.tile = take(most_rows_ * plan_.tile_pitch);
    places.shifts = take(most_rows_);
    places.of_block = take(most_rows_);
    size_t most = 0;
    for (const share_t &share : shares_)
        most = std::max(most, share.count);
    places.states = take(
            static_cast<dim_t>(most) * (arranged_floats_ + partial_floats()));
    places.end = at;
    return places;
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

float *attention_kernel_t::partial_of(
        const stage_memory_t &memory, size_t row_block, size_t split) const {
    const dim_t before = static_cast<dim_t>(row_block) * splits();
    return static_cast<float *>(memory.shared)
           + (before + static_cast<dim_t>(split)) * partial_floats();
}

const attention_plan_t::row_block_t &attention_kernel_t::rows_of(
        const state_t &state) const {
    return plan_.row_blocks[state.row_block];
}

// A unit is a split of a block of rows. A share's units come split by split.
void attention_kernel_t::run_units(
        const stage_memory_t &memory, dim_t begin, dim_t end) const noexcept {
    auto *const base = static_cast<float *>(memory.own);
    const memory_t own {memory, base + places_.query, base + places_.keys,
            base + places_.values, base + places_.tile, base + places_.shifts,
            base + places_.of_block};
    const auto is_before = [](dim_t unit, const share_t &share) {
        return unit < share.first_unit;
    };
    together_t together;
    size_t loaded = 0; // of the states, those whose query is arranged
    while (begin < end) {
        const share_t &share = *std::prev(std::upper_bound(
                shares_.begin(), shares_.end(), begin, is_before));
        const auto unit = static_cast<size_t>(begin - share.first_unit);
        const size_t split = unit / share.count, skipped = unit % share.count;
        const size_t first = share.first + skipped;
        // All splits of a block of rows have the same query.
        if (loaded > 0 && together.states[0].row_block != first) loaded = 0;
        together.count = std::min(
                share.count - skipped, static_cast<size_t>(end - begin));
        for (size_t i = 0; i < together.count; ++i) {
            state_t &state = together.states[i];
            state.row_block = first + i;
            state.query = base + places_.states
                          + static_cast<dim_t>(i)
                                    * (arranged_floats_ + partial_floats());
            state.place_sums(splits() == 1
                                     ? state.query + arranged_floats_
                                     : partial_of(memory, first + i, split),
                    most_rows_, plan_.cols_pitch);
            if (i >= loaded) load_query(own, state);
        }
        loaded = std::max(loaded, together.count);
        attend(own, together, split);
        for (size_t i = 0; i < together.count && splits() == 1; ++i)
            store(memory, together.states[i]);
        begin += static_cast<dim_t>(together.count);
    }
}

void attention_kernel_t::attend(const memory_t &own, together_t &together,
        size_t split) const noexcept {
    const auto first = together.states.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(together.count);
    std::for_each(first, last, [this](state_t &state) {
        std::fill_n(state.maxima, rows_of(state).rows, -infinity);
        std::fill_n(state.totals, rows_of(state).rows, 0.f);
        state.has_sums = false;
    });
    const auto &rows = rows_of(*first);
    const size_t all = plan_.token_blocks.size();
    const size_t many = splits() > 1 ? plan_.blocks_a_split : all;
    const size_t end = std::min(split * many + many, all);
    for (size_t block = split * many; block < end; ++block) {
        const dim_t count = plan_.token_blocks[block];
        const attention_tokens_t keys {
                own.all.buffers + plan_.keys_operands.first, rows.keys, block,
                count};
        const attention_tokens_t values {
                own.all.buffers + plan_.values_operands.first, rows.values,
                block, count};
        bool is_loaded = false;
        for (auto state = first; state != last; ++state) {
            const dim_t tokens = counted_tokens(own, *state, block);
            if (tokens == 0) continue;
            if (!is_loaded && plan_.keys) plan_.keys->load(keys, own.keys);
            if (!is_loaded && plan_.values)
                plan_.values->load(values, own.values);
            is_loaded = true;
            attention_tile_t tile {
                    own.tile, plan_.tile_pitch, rows_of(*state).rows, tokens};
            compute_scores(own, *state, keys, tile);
            if (tokens < count && !fill_vanishes(own, *state, true)) {
                tile.tokens = count;
                compute_scores(own, *state, keys, tile);
            }
            weigh(own, *state, values, tile);
        }
    }
    std::for_each(first, last, [this](state_t &state) {
        if (state.has_sums) return;
        std::fill_n(state.sums, rows_of(state).rows * plan_.cols_pitch, 0.f);
    });
}

void attention_kernel_t::load_query(
        const memory_t &own, const state_t &state) const noexcept {
    if (plan_.head == 0) return;
    std::array<void *, max_operands> at {};
    std::copy_n(own.all.buffers + plan_.query_operands.first,
            plan_.query_operands.count, at.begin());
    at[plan_.query_operands.count] = own.query;
    const block_kernels_t::index_t block {state.row_block, 0, 0};
    const float *query = as_it_lies(plan_.query, block, 0, at.data());
    if (query == nullptr) {
        plan_.query.run(block, at.data());
        query = own.query;
    }
    plan_.keys->arrange(query, rows_of(state).rows, state.query, own.keys);
}

// Computes query * keys of a tile, and again what is finite only by keys that
// are scaled first.
void attention_kernel_t::multiply_keys(const memory_t &own,
        const state_t &state, const attention_tokens_t &keys,
        const attention_tile_t &tile) const noexcept {
    if (plan_.keys->run(keys, tile, state.query, own.keys)) return;
    plan_.softmax->find_magnitudes(
            {tile.scores, tile.pitch, tile.rows, tile.tokens}, own.of_block);
    const bool are_finite = std::all_of(own.of_block, own.of_block + tile.rows,
            [](float magnitude) { return std::isfinite(magnitude); });
    if (!are_finite) plan_.keys->redo_overflow(keys, tile, state.query);
}

// Computes the scores of a tile, and the largest one of each row.
void attention_kernel_t::compute_scores(const memory_t &own,
        const state_t &state, const attention_tokens_t &keys,
        const attention_tile_t &tile) const noexcept {
    if (plan_.head == 0)
        std::fill_n(tile.scores, tile.rows * plan_.tile_pitch, 0.f);
    else multiply_keys(own, state, keys, tile);
    // The steps take all tokens of the block.
    for (dim_t r = 0; r < tile.rows && tile.tokens < keys.count; ++r)
        std::fill(tile.scores + r * tile.pitch + tile.tokens,
                tile.scores + r * tile.pitch + keys.count, 0.f);
    std::array<void *, max_operands> at {};
    for (const attention_part_t &part : plan_.parts) {
        if (part.steps.operand_count() > 0) {
            at[0] = tile.scores;
            std::copy_n(own.all.buffers + part.operands.first,
                    part.operands.count, at.begin() + 1);
            at[part.operands.count + 1] = tile.scores;
            part.steps.run({state.row_block, keys.block, 0}, at.data());
        }
        if (part.mask.kind != attention_mask_t::kind_t::none)
            apply_mask(own.all, part.mask, state, keys.block, tile);
    }
    plan_.softmax->find_largest(
            {tile.scores, tile.pitch, tile.rows, tile.tokens}, own.of_block);
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
        const attention_mask_t &mask, const state_t &state, size_t token_block,
        const attention_tile_t &tile) const noexcept {
    const dim_t begin = first_tokens_[token_block];
    const dim_t count = tile.tokens;
    const float fill = load_f32(mask.fill_type, memory.buffers[mask.fill], 0);
    const auto *const condition
            = static_cast<const uint8_t *>(memory.buffers[mask.condition]);
    for (dim_t r = 0; r < tile.rows; ++r) {
        const dim_t row = rows_of(state).first + r;
        float *const scores = tile.scores + r * tile.pitch;
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

// A causal mask that is the last of the parts, or null: what it fills may weigh
// nothing.
const attention_mask_t *attention_kernel_t::last_mask() const {
    if (plan_.parts.size() < 2 || plan_.parts.back().steps.operand_count() > 0)
        return nullptr;
    const attention_mask_t &mask = plan_.parts[plan_.parts.size() - 2].mask;
    const bool is_causal = mask.kind == attention_mask_t::kind_t::causal
                           && mask.keeps_where_true;
    return is_causal ? &mask : nullptr;
}

// True if what last_mask() fills weighs 0 next to the largest scores that were
// met before, and in the tile that was computed last.
bool attention_kernel_t::fill_vanishes(const memory_t &own,
        const state_t &state, bool with_tile) const noexcept {
    const attention_mask_t &mask = *last_mask();
    const float fill = load_f32(mask.fill_type, own.all.buffers[mask.fill], 0);
    if (fill == -infinity) return true;
    for (dim_t r = 0; r < rows_of(state).rows; ++r) {
        const float largest
                = with_tile ? std::max(state.maxima[r], own.of_block[r])
                            : state.maxima[r];
        if (!(largest - fill > vanishes_from)) return false;
    }
    return true;
}

// How many tokens of a block have weights other than 0, as far as last_mask()
// tells and the products can make use of it. Computing all would add nothing,
// unless a value is infinite or NaN.
dim_t attention_kernel_t::counted_tokens(const memory_t &own,
        const state_t &state, size_t token_block) const noexcept {
    const dim_t all = plan_.token_blocks[token_block];
    const attention_mask_t *const mask = last_mask();
    if (mask == nullptr) return all;
    const auto &rows = rows_of(state);
    dim_t last = -1;
    for (dim_t r = 0; r < rows.rows; ++r)
        last = std::max(last, last_token(own.all, *mask, rows.first + r));
    const dim_t count = last + 1 - first_tokens_[token_block];
    if (count <= 0) return fill_vanishes(own, state, false) ? 0 : all;
    const bool takes_fewer = plan_.values && plan_.values->takes_fewer_tokens();
    return takes_fewer ? std::min(round_up(count, softmax_rows_t::chunk), all)
                       : all;
}

// Adds a block of tokens: scores become e^(score - maximum), and multiply the
// values.
void attention_kernel_t::weigh(const memory_t &own, state_t &state,
        const attention_tokens_t &values,
        const attention_tile_t &tile) const noexcept {
    for (dim_t r = 0; r < tile.rows; ++r) {
        const float before = state.maxima[r];
        const float after = std::max(before, own.of_block[r]);
        const float by = correction(before, after);
        state.maxima[r] = after;
        // A row of -infinity alone has weights of 0: exp(-infinity - 0).
        own.shifts[r] = after == -infinity ? 0.f : -after;
        state.totals[r] *= by;
        float *const sums = state.sums + r * plan_.cols_pitch;
        if (state.has_sums && by != 1.f) scale(sums, plan_.cols, by, sums);
    }
    if (plan_.values)
        plan_.values->weigh(values, tile, *plan_.softmax, own.shifts,
                own.of_block, own.values);
    else
        plan_.softmax->weigh({tile.scores, tile.pitch, tile.rows, tile.tokens},
                own.shifts, own.of_block);
    for (dim_t r = 0; r < tile.rows; ++r)
        state.totals[r] += own.of_block[r];
    if (plan_.values)
        plan_.values->run(values, tile, state.sums, plan_.cols_pitch,
                state.has_sums, own.values);
    state.has_sums = true;
}

void attention_kernel_t::store_stats(
        const stage_memory_t &memory, const state_t &state) const noexcept {
    const auto &rows = rows_of(state);
    auto *const stats = static_cast<float *>(memory.buffers[plan_.stats]);
    for (dim_t r = 0; r < rows.rows; ++r) {
        dim_t rest = rows.first + r, place = 0;
        for (size_t d = plan_.stats_strides.size(); d-- > 0;) {
            place += rest % plan_.scores[d] * plan_.stats_strides[d];
            rest /= plan_.scores[d];
        }
        const float sum = std::log(state.totals[r]);
        stats[place] = state.maxima[r] == -infinity && !std::isnan(sum)
                               ? -infinity
                               : state.maxima[r] + sum;
    }
}

// The sums, over what all weights add up to, to dst.
void attention_kernel_t::store(
        const stage_memory_t &memory, const state_t &state) const noexcept {
    const dim_t rows = rows_of(state).rows;
    if (plan_.stats != 0) store_stats(memory, state);
    std::array<void *, max_operands> at {state.sums};
    std::copy_n(memory.buffers + plan_.result_operands.first,
            plan_.result_operands.count, at.begin() + 1);
    const block_kernels_t::index_t block {state.row_block, 0, 0};
    float *const dst = as_it_lies(plan_.result, block, 1, at.data());
    for (dim_t r = 0; r < rows; ++r) {
        float *const sums = state.sums + r * plan_.cols_pitch;
        float *const to = dst ? dst + r * plan_.cols_pitch : sums;
        const bool is_masked
                = state.maxima[r] == -infinity && !std::isnan(state.totals[r]);
        if (plan_.token_blocks.empty()
                || (is_masked && plan_.masked_rows_are_zero)) {
            std::fill_n(to, plan_.cols, 0.f);
            continue;
        }
        // 0 * infinity, which is NaN, where all are masked.
        scale(sums, plan_.cols, 1 / state.totals[r], to);
    }
    if (!dst) plan_.result.run(block, at.data());
}

// In the order of the splits, whoever computed them.
void attention_kernel_t::join_splits(
        const stage_memory_t &memory, size_t row_block) const noexcept {
    state_t all;
    all.row_block = row_block;
    all.place_sums(
            partial_of(memory, row_block, 0), most_rows_, plan_.cols_pitch);
    for (size_t s = 1; s < static_cast<size_t>(splits()); ++s) {
        state_t split;
        split.place_sums(
                partial_of(memory, row_block, s), most_rows_, plan_.cols_pitch);
        for (dim_t r = 0; r < rows_of(all).rows; ++r) {
            const float after = std::max(all.maxima[r], split.maxima[r]);
            const float of_all = correction(all.maxima[r], after);
            const float of_split = correction(split.maxima[r], after);
            all.maxima[r] = after;
            all.totals[r] = all.totals[r] * of_all + split.totals[r] * of_split;
            float *const to = all.sums + r * plan_.cols_pitch;
            const float *const from = split.sums + r * plan_.cols_pitch;
            for (dim_t c = 0; c < plan_.cols; ++c)
                to[c] = to[c] * of_all + from[c] * of_split;
        }
    }
    store(memory, all);
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
    size_t together = 1;
    for (const auto &share : attention->shares_)
        together = std::max(together, share.count);
    workload.stages.push_back({blocks * splits, threads, true,
            [attention](const stage_memory_t &memory, dim_t begin, dim_t end) {
        attention->run_units(memory, begin, end);
        return status_t::success;
    }, static_cast<dim_t>(together)});
    if (splits == 1) return workload;
    workload.scratch.shared = 4 * blocks * splits * attention->partial_floats();
    workload.stages.push_back({blocks, std::min(threads, blocks), false,
            [attention](const stage_memory_t &memory, dim_t begin, dim_t end) {
        for (dim_t block = begin; block < end; ++block)
            attention->join_splits(memory, static_cast<size_t>(block));
        return status_t::success;
    }});
    return workload;
}

} // namespace dnnl_dequant
