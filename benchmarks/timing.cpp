#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace dnnl_dequant {
namespace bench {

namespace {

double seconds_now(bool cpu_time) {
    timespec now {};
    clock_gettime(cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec)
           + static_cast<double>(now.tv_nsec) * 1e-9;
}

constexpr double far_behind = 8; // times the fastest

struct pace_t {
    int repeats = 1;    // that make a sample long enough
    double seconds = 0; // of one run
};

// Also warms code and buffers up.
pace_t pace_of(const contestant_t &run, const sampling_t &sampling) {
    const double min_sample = sampling.min_sample;
    pace_t pace;
    int &repeats = pace.repeats;
    while (repeats < (1 << 20)) {
        pace.seconds = run(repeats, sampling.cpu_time);
        const double took = pace.seconds * repeats;
        if (took >= min_sample) break;
        // The clock's own step makes tiny readings worthless: grow slowly.
        const double wanted = min_sample / std::max(took, 1e-9) * 1.1;
        repeats *= static_cast<int>(std::clamp(std::ceil(wanted), 2.0, 16.0));
    }
    return pace;
}

// How many rounds each takes part in.
std::vector<int> rounds_of(
        const std::vector<pace_t> &paces, const sampling_t &sampling) {
    double fastest = sampling.budget;
    for (const auto &pace : paces)
        fastest = std::min(fastest, pace.seconds);
    const double slow = std::max(sampling.budget, far_behind * fastest);
    std::vector<int> rounds;
    for (const auto &pace : paces)
        rounds.push_back(pace.seconds > slow ? sampling.slow_rounds
                                             : sampling.max_rounds);
    return rounds;
}

} // namespace

double samples_t::quantile(double q) const {
    if (seconds.empty()) return 0;
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const double at = q * static_cast<double>(sorted.size() - 1);
    const size_t low = static_cast<size_t>(at);
    const size_t high = std::min(low + 1, sorted.size() - 1);
    const double part = at - static_cast<double>(low);
    return sorted[low] * (1 - part) + sorted[high] * part;
}

double seconds_of(const std::function<void()> &run, bool cpu_time) {
    const double start = seconds_now(cpu_time);
    run();
    return seconds_now(cpu_time) - start;
}

contestant_t timed_here(std::function<void()> run) {
    return [run = std::move(run)](int repeats, bool cpu_time) {
        run();
        const double start = seconds_now(cpu_time);
        for (int i = 0; i < repeats; i++)
            run();
        return (seconds_now(cpu_time) - start) / repeats;
    };
}

std::vector<samples_t> sample_side_by_side(
        const std::vector<contestant_t> &contestants,
        const sampling_t &sampling) {
    std::vector<pace_t> paces;
    for (const auto &c : contestants)
        paces.push_back(pace_of(c, sampling));
    const std::vector<int> rounds = rounds_of(paces, sampling);
    std::vector<samples_t> all(contestants.size());
    int round = 0;
    // If every sample is one run, the first looks were a round.
    if (std::all_of(paces.begin(), paces.end(),
                [](const pace_t &pace) { return pace.repeats == 1; })) {
        for (size_t i = 0; i < contestants.size(); i++)
            all[i].seconds.push_back(paces[i].seconds);
        round++;
    }
    const double start = seconds_now(false);
    for (; round < sampling.max_rounds; round++) {
        if (round >= sampling.min_rounds
                && seconds_now(false) - start > sampling.budget)
            break;
        for (size_t i = 0; i < contestants.size(); i++)
            if (round < rounds[i])
                all[i].seconds.push_back(
                        contestants[i](paces[i].repeats, sampling.cpu_time));
    }
    return all;
}

void contest_t::run(const sampling_t &sampling) const {
    const auto samples = sample_side_by_side(contestants_, sampling);
    for (size_t i = 0; i < samples.size(); i++)
        *results_[i] = samples[i];
}

samples_t ratio_of(const samples_t &a, const samples_t &b) {
    samples_t ratio;
    const size_t n = std::min(a.seconds.size(), b.seconds.size());
    for (size_t i = 0; i < n; i++)
        ratio.seconds.push_back(a.seconds[i] / b.seconds[i]);
    return ratio;
}

} // namespace bench
} // namespace dnnl_dequant
