#ifndef BENCHMARKS_LATENCY_HPP
#define BENCHMARKS_LATENCY_HPP

#include <functional>
#include <string>
#include <vector>

#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

/// The cost of a call without the work itself.
struct latency_t {
    std::string name; // "latency/compile_first", what --filter is matched with
    std::string what;
    samples_t ours, stock;
    double target; // seconds that ours may take; 0: as long as stock
    std::string target_text() const;
    bool misses_target() const;
};

/// Measures those whose name `wanted` takes:
/// - executing 64 elements, u8 -> f32, per tensor;
/// - compiling a u4 per-group problem that this process has not met before;
/// - compiling it again, out of the compiled-partition cache.
std::vector<latency_t> measure_latencies(
        const std::function<bool(const std::string &)> &wanted);

} // namespace bench
} // namespace dnnl_dequant

#endif
