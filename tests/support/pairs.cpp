#include "support/pairs.hpp"

#include <algorithm>

namespace dnnl_dequant {
namespace support {

namespace {

// The more of them, the fewer rows in the end.
constexpr int attempts = 12;

class finder_t {
public:
    finder_t(const std::vector<size_t> &sizes, uint64_t seed)
        : sizes_(sizes)
        , random_(seed) {
        for (const size_t size : sizes) {
            first_.push_back(values_);
            values_ += size;
        }
        met_.assign(values_ * values_, false);
        for (size_t a = 0; a < sizes.size(); ++a)
            for (size_t b = 0; b < a; ++b)
                missing_ += sizes[a] * sizes[b];
    }

    std::vector<choices_t> run() {
        std::vector<choices_t> rows;
        while (missing_ > 0) {
            choices_t best;
            size_t most = 0;
            for (int i = 0; i < attempts; ++i) {
                size_t found = 0;
                const choices_t row = attempt(found);
                if (found > most) best = row;
                most = std::max(most, found);
            }
            if (best.empty()) continue;
            note(best);
            rows.push_back(best);
        }
        return rows;
    }

private:
    size_t place(size_t a, size_t value_a, size_t b, size_t value_b) const {
        return (first_[a] + value_a) * values_ + first_[b] + value_b;
    }

    // Choice by choice the value that meets the most that it never met.
    choices_t attempt(size_t &found) {
        choices_t row(sizes_.size(), 0);
        std::vector<size_t> chosen;
        for (const size_t choice : any_order(random_, sizes_.size())) {
            size_t most = 0;
            for (const size_t value : any_order(random_, sizes_[choice])) {
                size_t now = 0;
                for (const size_t other : chosen)
                    now += !met_[place(choice, value, other, row[other])];
                if (now >= most) row[choice] = value;
                most = std::max(most, now);
            }
            found += most;
            chosen.push_back(choice);
        }
        return row;
    }

    void note(const choices_t &row) {
        for (size_t a = 0; a < row.size(); ++a)
            for (size_t b = 0; b < row.size(); ++b) {
                const size_t at = place(a, row[a], b, row[b]);
                if (b < a && !met_[at]) --missing_;
                met_[at] = true;
            }
    }

    const std::vector<size_t> &sizes_;
    random_t random_;
    size_t values_ = 0, missing_ = 0;
    std::vector<size_t> first_; // of each choice, among all values
    std::vector<bool> met_;
};

} // namespace

std::vector<choices_t> pairs_of(
        const std::vector<size_t> &sizes, uint64_t seed) {
    return finder_t(sizes, seed).run();
}

} // namespace support
} // namespace dnnl_dequant
