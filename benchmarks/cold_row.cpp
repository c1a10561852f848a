#include "cold_row.hpp"

namespace dnnl_dequant {
namespace bench {

samples_t cold_row_t::share_of(const contender_t &contender) const {
    samples_t share = bench::ratio_of(peak, contender.time);
    for (double &value : share.seconds)
        value *= operations / peak_operations;
    return share;
}

double cold_row_t::peak_per_second() const {
    return peak.seconds.empty() ? 0 : peak_operations / peak.median();
}

std::optional<double> cold_row_t::gain_on(const contender_t &other) const {
    if (!ours.ran() || !other.ran()) return std::nullopt;
    return other.estimated ? other.time.median() / ours.time.median()
                           : bench::ratio_of(other.time, ours.time).median();
}

} // namespace bench
} // namespace dnnl_dequant
