#include "e2e/attention_cache.hpp"

#include <algorithm>
#include <numeric>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace e2e {

using kind = op::kind;

namespace {

// Numbers of a token that a group has.
constexpr dim_t group_size = 16, ragged_size = 24;
// Tokens that share what each number has.
constexpr dim_t token_group_size = 32, token_block_size = 128;
// Tokens that a cache has room for, beyond those that there are.
constexpr dim_t spare_tokens = 5;

// Dense but for room for more tokens, of which a batch has `room` in all.
dims_t roomy_strides(const dims_t &dims, size_t tokens) {
    dims_t room = dims;
    room[tokens] += spare_tokens;
    return support::dense_strides(room);
}

void set_granularity(const cache_t &cache, size_t numbers, size_t tokens,
        dequantize_case_t &how) {
    granularity_t granularity = cache.granularity;
    const bool has_groups = how.op != support::dequantize_op_t::extended_linear;
    if (cache.kind == kind::Dequantize) granularity = granularity_t::whole;
    if (!has_groups && granularity == granularity_t::token)
        granularity = granularity_t::token_channel;
    if (!has_groups
            && (granularity == granularity_t::group
                    || granularity == granularity_t::ragged
                    || granularity == granularity_t::head_group
                    || granularity == granularity_t::head_block))
        granularity = granularity_t::head_channel;
    const dim_t depth = std::max<dim_t>(how.src.dims[numbers], 1);
    how.group_shape.assign(how.src.dims.size(), 1);
    how.qtype = support::qtype_t::per_group;
    switch (granularity) {
    case granularity_t::whole: how.qtype = support::qtype_t::per_tensor; break;
    case granularity_t::token: how.group_shape[numbers] = depth; break;
    case granularity_t::group:
        how.group_shape[numbers] = std::min(depth, group_size);
        break;
    case granularity_t::ragged:
        how.group_shape[numbers] = std::min(depth, ragged_size);
        break;
    case granularity_t::head_group:
    case granularity_t::head_block:
        how.group_shape[tokens] = std::min(
                std::max<dim_t>(how.src.dims[tokens], 1),
                granularity == granularity_t::head_group ? token_group_size
                                                         : token_block_size);
        break;
    case granularity_t::head_channel:
    case granularity_t::token_channel:
        how.qtype = support::qtype_t::per_channel;
        how.axis = static_cast<dim_t>(
                granularity == granularity_t::head_channel ? numbers : tokens);
    }
}

} // namespace

cache_place_t place_of(
        const cache_t &cache, dims_t batches, dim_t tokens, dim_t numbers) {
    const stored_t stored = cache.stored;
    const bool named_by_number = stored == stored_t::columns
                                 || stored == stored_t::strided
                                 || stored == stored_t::turned;
    if (stored == stored_t::reshaped)
        batches = {std::accumulate(
                batches.begin(), batches.end(), dim_t(1), std::multiplies<>())};
    cache_place_t place;
    place.tokens = batches.size() + (named_by_number ? 1 : 0);
    place.numbers = batches.size() + (named_by_number ? 0 : 1);
    dims_t &dims = place.tensor.dims, &strides = place.tensor.strides;
    dims = batches;
    dims.resize(batches.size() + 2, tokens);
    dims[place.numbers] = numbers;
    // In the order in which they lie.
    const bool swaps = named_by_number && stored != stored_t::columns;
    dims_t lies = dims;
    if (swaps) std::swap(lies[place.tokens], lies[place.numbers]);
    strides = cache.padded ? roomy_strides(
                                     lies, swaps ? place.numbers : place.tokens)
                           : support::dense_strides(lies);
    if (swaps) std::swap(strides[place.tokens], strides[place.numbers]);
    return place;
}

dequantize_case_t dequantize_of(
        const cache_t &cache, const cache_place_t &place, uint64_t seed) {
    dequantize_case_t how;
    how.op = cache.kind == op_kind::DequantizeLinear
                     ? support::dequantize_op_t::linear
             : cache.kind == op_kind::ExtendedDequantizeLinear
                     ? support::dequantize_op_t::extended_linear
                     : support::dequantize_op_t::dynamic;
    how.src = place.tensor;
    how.seed = seed;
    set_granularity(cache, place.numbers, place.tokens, how);
    return how;
}

} // namespace e2e
} // namespace dnnl_dequant
