#ifndef E2E_ATTENTION_CACHE_HPP
#define E2E_ATTENTION_CACHE_HPP

#include "e2e/dequantize_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

/// The keys or values that share one scale.
enum class granularity_t {
    whole,         // all
    token,         // a token's numbers
    group,         // 16 of a token's numbers
    ragged,        // 24 of them, the last group shorter
    head_channel,  // one of a token's numbers, of all tokens
    head_group,    // the same, of 32 tokens
    head_block,    // the same, of 128 tokens
    token_channel, // a token, in all batches
};

/// How keys and values stand in memory and come to their product.
enum class stored_t {
    rows,       // token by token
    strided,    // the same, but named [numbers, tokens]
    columns,    // [numbers, tokens]
    transposed, // token by token, by a StaticTranspose
    turned,     // as strided is, by a StaticTranspose
    reshaped,   // token by token of one batch, by a StaticReshape
    cast,       // token by token, by a TypeCast
};

/// Keys or values.
struct cache_t {
    data_type_t type = data_type_t::s8;   // undef: not quantized
    data_type_t zps = data_type_t::undef; // undef: none
    data_type_t scales = data_type_t::f32;
    op::kind kind = op::kind::DynamicDequantize;
    granularity_t granularity = granularity_t::token;
    stored_t stored = stored_t::rows;
    bool padded = false; // made for more tokens
    bool scaled = false; // by a Multiply, once dequantized
};

/// The layout of keys or values for so many batches, tokens and numbers. The
/// last two dimensions are tokens and numbers.
struct cache_place_t {
    support::tensor_t tensor; // of no type yet
    size_t tokens, numbers;   // dimensions
};
cache_place_t place_of(
        const cache_t &cache, dims_t batches, dim_t tokens, dim_t numbers);

/// How the cache's op dequantizes what stands there: but for tensors.
dequantize_case_t dequantize_of(
        const cache_t &cache, const cache_place_t &place, uint64_t seed);

} // namespace e2e
} // namespace dnnl_dequant

#endif
