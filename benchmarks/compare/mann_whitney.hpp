#ifndef BENCHMARKS_COMPARE_MANN_WHITNEY_HPP
#define BENCHMARKS_COMPARE_MANN_WHITNEY_HPP

#include <vector>

namespace dnnl_dequant {
namespace bench {

/// How likely two samples that lie so far apart are, were they drawn from one
/// and the same distribution: the two-sided p of the Mann-Whitney U test, which
/// assumes nothing of that distribution. Exact for up to 50 values a side
/// without ties, else by the normal approximation with ties and continuity
/// corrected. 1 where a side is empty.
double mann_whitney_p(
        const std::vector<double> &a, const std::vector<double> &b);

/// Adjusts p values that are judged together, by Holm: where the adjusted one
/// is below alpha, the chance of any false alarm among all is below alpha.
std::vector<double> holm_adjusted(const std::vector<double> &p);

} // namespace bench
} // namespace dnnl_dequant

#endif
