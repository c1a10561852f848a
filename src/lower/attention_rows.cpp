#include "lower/attention_rows.hpp"

#include <algorithm>

#include "lower/blocks.hpp"

namespace dnnl_dequant {

namespace {

// A factor's batch at a place of the scores.
size_t outer_at(const chain_t &factor, const dims_t &at) {
    const size_t rank = at.size() + 1;
    dim_t outer = 0;
    for (size_t d = 0; d + 2 < rank; ++d) {
        const dim_t extent = extent_of(factor, rank, d);
        outer = outer * extent + (extent == 1 ? 0 : at[d]);
    }
    return static_cast<size_t>(outer);
}

// The next block's place, or false.
bool advance(const dims_t &shape, const dims_t &sizes, dims_t &at) {
    for (size_t d = at.size(); d-- > 0;) {
        at[d] += sizes[d];
        if (at[d] < shape[d]) return true;
        at[d] = 0;
    }
    return false;
}

} // namespace

bool cuts_parts_evenly(const attention_t &attention, size_t d, dim_t size) {
    return std::all_of(attention.parts.begin(), attention.parts.end(),
            [&](const score_part_t &part) {
        return part.steps.chain.cuts_evenly(d, size);
    });
}

attention_rows_t cut_attention_rows(const attention_t &attention,
        const chain_t &values, const chain_t &stored, dim_t most_rows) {
    const dims_t &shape = attention.scores;
    const chain_t &query = attention.query.chain, &keys = attention.keys.chain;
    const size_t rank = shape.size();
    attention_rows_t rows;
    rows.sizes.assign(rank - 1, 1);
    for (size_t d = rank - 1; d-- > 0;) {
        if (shape[d] == 1) continue;
        const bool is_shared = d + 2 == rank
                               || (extent_of(keys, rank, d) == 1
                                       && extent_of(values, rank, d) == 1
                                       && extent_of(query, rank, d) != 1);
        if (!is_shared) break;
        rows.sizes[d] = pick_size(shape[d],
                std::max<dim_t>(most_rows / rows.most, 1), 1, [&](dim_t size) {
            return query.cuts_evenly(d + query.shape().size() - rank, size)
                   && cuts_parts_evenly(attention, d, size)
                   && stored.cuts_evenly(d, size);
        });
        rows.most *= rows.sizes[d];
        if (rows.sizes[d] < shape[d]) break;
    }
    dims_t at(rank - 1, 0);
    do {
        dims_t own;
        attention_plan_t::row_block_t block {
                0, 1, outer_at(keys, at), outer_at(values, at)};
        for (size_t d = 0; d + 1 < rank; ++d) {
            own.push_back(std::min(rows.sizes[d], shape[d] - at[d]));
            block.rows *= own.back();
            block.first = block.first * shape[d] + at[d];
        }
        rows.blocks.push_back(block);
        rows.block_dims.push_back(std::move(own));
    } while (advance(shape, rows.sizes, at));
    return rows;
}

} // namespace dnnl_dequant
