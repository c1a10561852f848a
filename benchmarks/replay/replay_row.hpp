#ifndef BENCHMARKS_REPLAY_REPLAY_ROW_HPP
#define BENCHMARKS_REPLAY_REPLAY_ROW_HPP

#include <optional>
#include <string>
#include <vector>

#include "measure.hpp"

namespace dnnl_dequant {
namespace bench {

/// How the outputs of the plugin were held against those of stock or, where
/// stock does not run, of the same ops one by one, of the same inputs.
enum class verdict_t {
    equal,     // bit for bit, and where it is one dequantize as the formula
    formula,   // as the formula has it, which stock does not do or differs from
    bounded,   // within the bound: sums are inside
    unchecked, // nobody to compare with
    wrong
};

struct replay_check_t {
    verdict_t verdict = verdict_t::unchecked;
    bool with_apart = false; // with the ops one by one
    size_t compared = 0, different = 0;
    double error = 0; // |plugin - other| over the greatest |other|
    double bound = 0; // of `error`, where it counts

    std::string text() const;
};

/// The refusal of who was not to run.
constexpr const char *not_asked = "not asked";

/// Ops that are compared and timed together: a partition of the plugin's, and
/// those of stock that cover the same ops.
struct replay_row_t {
    std::string name;               // "FILE#2:DynamicDequantize+TypeCast"
    std::vector<std::string> ops;   // kinds
    std::vector<std::string> types; // of inputs and outputs, "u4 f16 u8 -> f16"
    std::string owner;              // "plugin", "oneDNN" or "plugin+oneDNN"
    contender_t plugin, stock;
    contender_t apart; // the plugin's ops one by one, where it fuses several
    samples_t ordinary, streaming, prefetched;
    replay_check_t check;
    size_t bytes = 0;
    int threads = 1;

    bool has_limit() const { return !ordinary.seconds.empty(); }
    const samples_t &limit() const;
    samples_t ratio() const { return ratio_of(plugin.time, limit()); }
    double gigabytes_per_second() const;
    std::optional<double> gain() const; // stock's median over the plugin's
    std::optional<double> gain_of_fusing() const; // that of the ops apart
};

struct replay_options_t {
    int threads = 1;
    double budget = 0.5; // seconds a row
    bool cpu_time = false;
    bool with_stock = true;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
