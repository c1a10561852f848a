#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace dnnl_dequant {
namespace bench {

namespace {

using clock_type = std::chrono::steady_clock;

double since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

double sample(const std::function<void()> &run, int repeats) {
    run();
    const auto start = clock_type::now();
    for (int i = 0; i < repeats; i++)
        run();
    return since(start) / repeats;
}

// Runs that make a sample long enough; also warms code and buffers up.
int repeats_for(const std::function<void()> &run, double min_sample) {
    run();
    int repeats = 1;
    while (repeats < (1 << 20)) {
        const double took = sample(run, repeats) * repeats;
        if (took >= min_sample) break;
        // The clock's own step makes tiny readings worthless: grow slowly.
        const double wanted = min_sample / std::max(took, 1e-9) * 1.1;
        repeats *= static_cast<int>(std::clamp(std::ceil(wanted), 2.0, 16.0));
    }
    return repeats;
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

double seconds_of(const std::function<void()> &run) {
    const auto start = clock_type::now();
    run();
    return since(start);
}

std::vector<samples_t> sample_side_by_side(
        const std::vector<contestant_t> &contestants,
        const sampling_t &sampling) {
    std::vector<int> repeats;
    for (const auto &c : contestants)
        repeats.push_back(repeats_for(c, sampling.min_sample));
    std::vector<samples_t> all(contestants.size());
    const auto start = clock_type::now();
    for (int round = 0; round < sampling.max_rounds; round++) {
        if (round >= sampling.min_rounds && since(start) > sampling.budget)
            break;
        for (size_t i = 0; i < contestants.size(); i++)
            all[i].seconds.push_back(sample(contestants[i], repeats[i]));
    }
    return all;
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
