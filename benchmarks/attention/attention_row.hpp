#ifndef BENCHMARKS_ATTENTION_ATTENTION_ROW_HPP
#define BENCHMARKS_ATTENTION_ATTENTION_ROW_HPP

#include <functional>
#include <vector>

#include "attention_case.hpp"
#include "cold_row.hpp"

namespace dnnl_dequant {
namespace bench {

/// All that is known of one attention after it was measured.
struct attention_row_t : cold_row_t { // masked scores count as operations
    attention_case_t c;
    contender_t onnx;  // its results are unchecked
    contender_t dense; // both products of floats alone; unchecked too

    /// True if the row is over its target, or slower than ONNX Runtime.
    bool misses_target() const;
};

attention_row_t measure_attention(
        const attention_case_t &c, const measure_options_t &options);

/// Until there are none or the user interrupts, as measure_all().
std::vector<attention_row_t> measure_attentions(
        const std::vector<attention_case_t> &cases,
        const measure_options_t &options,
        const std::function<void(const attention_row_t &)> &print_row);

/// The memory that measuring it takes, without other libraries' copies of the
/// cache.
double bytes_needed(const attention_case_t &c, long last_cache_bytes);

/// The case in ONNX's words, for peer_t::prepare():
///   {op_type: GroupQueryAttention, domain, heads, group, queries, tokens,
///    head, bits: of the cache, x, y: element types, copies, threads}
std::string onnx_attention(const attention_case_t &c, int copies);

} // namespace bench
} // namespace dnnl_dequant

#endif
