#ifndef BENCHMARKS_TIMING_HPP
#define BENCHMARKS_TIMING_HPP

#include <functional>
#include <utility>
#include <vector>

namespace dnnl_dequant {
namespace bench {

/// Seconds a run, sorted nowhere: samples stand in the order of the rounds, so
/// that two contestants' samples of one index were taken side by side.
struct samples_t {
    std::vector<double> seconds;

    double median() const { return quantile(0.5); }
    double min() const { return quantile(0); }
    /// q from 0 to 1, linear between neighbours; 0 where there is no sample.
    double quantile(double q) const;
};

/// Seconds that one call takes; cpu_time as in sampling_t.
double seconds_of(const std::function<void()> &run, bool cpu_time = false);

/// Seconds a run, over so many runs that follow an untimed one; cpu_time as in
/// sampling_t.
using contestant_t = std::function<double(int repeats, bool cpu_time)>;

/// One who runs here and is timed by our clock.
contestant_t timed_here(std::function<void()> run);

struct sampling_t {
    int min_rounds = 7;
    int max_rounds = 101;
    /// A sample repeats a short run until it lasts this long.
    double min_sample = 20e-6;
    /// Rounds stop (after min_rounds) when this much time has been spent.
    double budget = 0.3;
    /// Who takes the whole budget for one run, and far longer than the fastest,
    /// leaves after so many rounds.
    int slow_rounds = 3;
    /// Count the calling thread's CPU time, which leaves out what others took
    /// of the processor. Says nothing about work on several threads.
    bool cpu_time = false;
};

/// Samples all contestants round by round. Memory bandwidth moves between
/// states within minutes, so that only times taken side by side compare.
///
/// Each sample follows an untimed run of the same contestant: one that leaves
/// dirty cache lines behind pays itself for their writing, not its neighbour.
std::vector<samples_t> sample_side_by_side(
        const std::vector<contestant_t> &contestants,
        const sampling_t &sampling);

/// Who takes turns, and where the samples go.
class contest_t {
public:
    /// `samples` is written to by run().
    void enter(contestant_t run, samples_t &samples) {
        contestants_.push_back(std::move(run));
        results_.push_back(&samples);
    }
    void run(const sampling_t &sampling) const;

private:
    std::vector<contestant_t> contestants_;
    std::vector<samples_t *> results_;
};

/// Round by round, a / b.
samples_t ratio_of(const samples_t &a, const samples_t &b);

} // namespace bench
} // namespace dnnl_dequant

#endif
