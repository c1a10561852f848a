#include "mann_whitney.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr size_t most_exact = 50;

struct ranks_t {
    double u = 0;    // of a: pairs in which a's value is the greater, ties half
    double ties = 0; // sum of t^3 - t over runs of t equal values
};

ranks_t rank(const std::vector<double> &a, const std::vector<double> &b) {
    std::vector<std::pair<double, bool>> all;
    for (const double value : a)
        all.emplace_back(value, true);
    for (const double value : b)
        all.emplace_back(value, false);
    std::sort(all.begin(), all.end());
    ranks_t ranks;
    double below = 0; // of b's values
    for (size_t i = 0; i < all.size();) {
        double of_a = 0, of_b = 0;
        size_t same = i;
        for (; same < all.size() && all[same].first == all[i].first; same++)
            (all[same].second ? of_a : of_b) += 1;
        ranks.u += of_a * (below + of_b / 2);
        below += of_b;
        const double t = of_a + of_b;
        ranks.ties += t * t * t - t;
        i = same;
    }
    return ranks;
}

// The chance that U is u or less: ways to order n and m values that give each
// U, by whether the greatest is of the first or the second.
double exact_below(size_t n, size_t m, double u) {
    const size_t most = n * m;
    std::vector<std::vector<double>> ways(
            m + 1, std::vector<double>(most + 1, 0));
    for (auto &row : ways)
        row[0] = 1; // of no values of the first
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            std::vector<double> next(most + 1, 0);
            // The greatest is of the first: it exceeds j of the second.
            for (size_t k = j; k <= most; k++)
                next[k] = ways[j][k - j];
            if (j > 0)
                for (size_t k = 0; k <= most; k++)
                    next[k] += ways[j - 1][k];
            ways[j] = std::move(next);
        }
    double below = 0, all = 0;
    for (size_t k = 0; k <= most; k++) {
        all += ways[m][k];
        if (static_cast<double>(k) <= u) below += ways[m][k];
    }
    return below / all;
}

} // namespace

double mann_whitney_p(
        const std::vector<double> &a, const std::vector<double> &b) {
    if (a.empty() || b.empty()) return 1;
    const double n = static_cast<double>(a.size());
    const double m = static_cast<double>(b.size());
    const ranks_t ranks = rank(a, b);
    const double low = std::min(ranks.u, n * m - ranks.u);
    if (ranks.ties == 0 && a.size() <= most_exact && b.size() <= most_exact)
        return std::min(1., 2 * exact_below(a.size(), b.size(), low));
    const double both = n + m;
    const double variance
            = n * m / 12 * (both + 1 - ranks.ties / (both * (both - 1)));
    if (variance <= 0) return 1; // all values are equal
    const double z = std::max(0., n * m / 2 - low - 0.5) / std::sqrt(variance);
    return std::erfc(z / std::sqrt(2.));
}

std::vector<double> holm_adjusted(const std::vector<double> &p) {
    std::vector<size_t> order(p.size());
    for (size_t i = 0; i < p.size(); i++)
        order[i] = i;
    std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return p[a] < p[b]; });
    std::vector<double> adjusted(p.size());
    double highest = 0;
    for (size_t i = 0; i < order.size(); i++) {
        const double left = static_cast<double>(p.size() - i);
        highest = std::max(highest, std::min(1., p[order[i]] * left));
        adjusted[order[i]] = highest;
    }
    return adjusted;
}

} // namespace bench
} // namespace dnnl_dequant
