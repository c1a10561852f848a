#ifndef BENCHMARKS_SERVE_LATENCIES_HPP
#define BENCHMARKS_SERVE_LATENCIES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace dnnl_dequant {
namespace bench {

/// How long calls took: counted in buckets that are 1.1 % wide (64 an octave)
/// from 1 ns to 70 s. Takes no memory as it goes, so that the process's own
/// growth can be seen.
class latencies_t {
public:
    void add(double seconds);
    void add(const latencies_t &other);

    size_t count() const { return count_; }
    double sum() const { return sum_; }
    double max() const { return max_; }
    /// q from 0 to 1, the middle of its bucket; 0 where nothing was counted.
    double quantile(double q) const;
    /// The same; nothing where so few were counted that none is expected
    /// beyond it: under 100 for the 99th percentile.
    std::optional<double> tail(double q) const;

private:
    static constexpr size_t an_octave = 64, octaves = 36;

    std::array<uint64_t, an_octave * octaves> buckets_ {};
    size_t count_ = 0;
    double sum_ = 0, max_ = 0;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
