#ifndef BENCHMARKS_GRAPH_RUN_HPP
#define BENCHMARKS_GRAPH_RUN_HPP

#include <string>
#include <vector>

#include "cold_memory.hpp"
#include "dequantize_run.hpp"
#include "measure.hpp"
#include "peak.hpp"

namespace dnnl_dequant {
namespace bench {

/// Runs a graph through the standard API, by the plugin or by stock oneDNN.
class graph_run_t {
public:
    /// `memory` must outlive this.
    graph_run_t(const graph_file_t &file, owner_t owner, cold_memory_t &memory);

    /// Empty, or why there is nothing to run.
    const std::string &refusal() const { return refusal_; }
    /// impl_info; empty for partitions of oneDNN's own.
    const std::string &kernel() const { return kernel_; }

    /// Each time with the next copy of what is cold.
    void execute();

private:
    struct bound_part_t {
        dnnl::graph::compiled_partition compiled;
        // One for each copy of what is cold.
        std::vector<std::vector<dnnl::graph::tensor>> inputs, outputs;
    };

    std::string refusal_, kernel_;
    dnnl::stream stream_;
    std::vector<bound_part_t> parts_;
    size_t copies_, next_ = 0;
};

/// Runs it once.
/// @returns the seconds, or 0 where the contender says why not
double try_out(graph_run_t &run, bool cpu_time, contender_t &contender);

/// Reading what is cold once, the next copy each time.
void enter_reading(contest_t &contest, const cold_memory_t &memory, int threads,
        samples_t &time);

/// @returns the operations of one run; 0 where the machine has no such
///     instructions, and nothing takes part
double enter_peak(
        contest_t &contest, peak_kind_t kind, int threads, samples_t &time);

} // namespace bench
} // namespace dnnl_dequant

#endif
