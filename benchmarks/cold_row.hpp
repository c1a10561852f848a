#ifndef BENCHMARKS_COLD_ROW_HPP
#define BENCHMARKS_COLD_ROW_HPP

#include <optional>

#include "measure.hpp"

namespace dnnl_dequant {
namespace bench {

/// The figures of any graph that was measured against reading its cold values
/// and against the peak of the machine's multiply-adds.
struct cold_row_t {
    int copies = 1; // of what is cold, which are taken in turn
    contender_t ours, stock;
    samples_t limit;            // reading what is cold once
    samples_t peak;             // a run of the multiply-adds, or none
    double peak_operations = 0; // of such a run
    double operations = 0;      // multiplications and additions of the graph

    /// Round by round, over the limit.
    samples_t ratio_of(const contender_t &contender) const {
        return bench::ratio_of(contender.time, limit);
    }
    /// Round by round, what part of the peak it reached.
    samples_t share_of(const contender_t &contender) const;
    double peak_per_second() const; // operations
    /// Another's time over ours, round by round; that of an estimate once.
    std::optional<double> gain_on(const contender_t &other) const;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
