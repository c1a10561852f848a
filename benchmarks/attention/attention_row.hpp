#ifndef BENCHMARKS_ATTENTION_ATTENTION_ROW_HPP
#define BENCHMARKS_ATTENTION_ATTENTION_ROW_HPP

#include <functional>
#include <optional>
#include <vector>

#include "attention_case.hpp"
#include "measure.hpp"

namespace dnnl_dequant {
namespace bench {

/// All that is known of one attention after it was measured.
struct attention_row_t {
    attention_case_t c;
    int copies = 1; // of the cache, which are taken in turn
    contender_t ours, stock;
    contender_t onnx;           // its results are unchecked
    contender_t dense;          // both products of floats alone; unchecked too
    samples_t limit;            // reading the cache once
    samples_t peak;             // a run of FMAs; none where there are none
    double peak_operations = 0; // of such a run

    /// Round by round, over the limit.
    samples_t ratio_of(const contender_t &contender) const {
        return bench::ratio_of(contender.time, limit);
    }
    /// Round by round, what part of the peak of f32 it reached; masked scores
    /// count.
    samples_t share_of(const contender_t &contender) const;
    /// Another's time over ours, round by round.
    std::optional<double> gain_on(const contender_t &other) const;
    /// Over the target, or slower than ONNX Runtime.
    bool misses_target() const;
};

attention_row_t measure_attention(
        const attention_case_t &c, const measure_options_t &options);

/// Until there are none or the user interrupts, as measure_all().
std::vector<attention_row_t> measure_attentions(
        const std::vector<attention_case_t> &cases,
        const measure_options_t &options,
        const std::function<void(const attention_row_t &)> &print_row);

/// What measuring it takes, other libraries' copies of the cache aside.
double bytes_needed(const attention_case_t &c, long last_cache_bytes);

/// The case in ONNX's words, for peer_t::prepare():
///   {op_type: GroupQueryAttention, domain, heads, group, queries, tokens,
///    head, bits: of the cache, x, y: element types, copies, threads}
std::string onnx_attention(const attention_case_t &c, int copies);

} // namespace bench
} // namespace dnnl_dequant

#endif
