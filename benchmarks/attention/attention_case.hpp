#ifndef BENCHMARKS_ATTENTION_ATTENTION_CASE_HPP
#define BENCHMARKS_ATTENTION_ATTENTION_CASE_HPP

#include <optional>
#include <string>
#include <vector>

#include "replay/graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// The ids of attention's values in its graph.
enum attention_value_t : size_t {
    keys_value,
    key_scales_value,
    key_zps_value,
    values_value,
    value_scales_value,
    value_zps_value,
    float_keys_value,
    float_values_value,
    query_value,
    scale_value, // of the scores, one element
    fill_value_of_mask,
    attention_dst_value,
    first_inner_value, // of ops between
};

/// Queries over a quantized cache of keys and values, each token of which has a
/// scale and an s8 zero point: what is measured in one row of a table.
struct attention_case_t {
    type_t type = type_t::f32; // of the query, scales and dst
    type_t cache = type_t::s8; // or s4
    /// Heads of keys and values, and queries that share one.
    dim_t heads = 8, group = 1;
    dim_t queries = 1, tokens = 4096, head = 128;
    bool causal = false;
    int threads = 1;

    dim_t rows() const { return heads * group * queries; }
    bool is_decode() const { return queries == 1; }
    /// The bytes of numbers, scales and zero points, which have to be read.
    size_t cache_bytes() const;
    /// Returns the multiplications and additions of both products, masked or
    /// not.
    double operations() const;

    /// Returns a name such as "Attention/f32/s8/8_of_8_heads/1x4096x128/t1".
    std::string name() const;
    /// The ratio to reading the cache that one query is held to.
    std::optional<double> target() const;
};

/// The graph as a user would build it: two dequantizes, MatMul, Multiply, a
/// causal mask by GenIndex, GreaterEqual and Select, SoftMax, MatMul. Shared
/// heads give it rank 5.
graph_file_t graph_of(const attention_case_t &c);

/// Returns the graph's values that are the cache.
std::vector<size_t> cache_values();

/// Returns cases of one query over 4096 tokens, and of 512 over 512.
std::vector<attention_case_t> attention_set(
        const std::vector<int> &threads, bool quick);

} // namespace bench
} // namespace dnnl_dequant

#endif
