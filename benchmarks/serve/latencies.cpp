#include "latencies.hpp"

#include <algorithm>
#include <cmath>

namespace dnnl_dequant {
namespace bench {

void latencies_t::add(double seconds) {
    const double at = std::log2(std::max(seconds, 1e-9) * 1e9) * an_octave;
    const size_t bucket
            = std::min(static_cast<size_t>(at), buckets_.size() - 1);
    buckets_[bucket]++;
    count_++;
    sum_ += seconds;
    max_ = std::max(max_, seconds);
}

void latencies_t::add(const latencies_t &other) {
    for (size_t i = 0; i < buckets_.size(); i++)
        buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
}

double latencies_t::quantile(double q) const {
    if (count_ == 0) return 0;
    const double rank = q * static_cast<double>(count_ - 1);
    double seen = 0;
    for (size_t i = 0; i < buckets_.size(); i++) {
        seen += static_cast<double>(buckets_[i]);
        if (seen <= rank) continue;
        const double middle = (static_cast<double>(i) + 0.5) / an_octave;
        return std::min(std::exp2(middle) * 1e-9, max_);
    }
    return max_;
}

std::optional<double> latencies_t::tail(double q) const {
    if (static_cast<double>(count_) * (1 - q) < 1 - 1e-9) return std::nullopt;
    return quantile(q);
}

} // namespace bench
} // namespace dnnl_dequant
