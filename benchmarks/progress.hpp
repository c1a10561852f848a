#ifndef BENCHMARKS_PROGRESS_HPP
#define BENCHMARKS_PROGRESS_HPP

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace dnnl_dequant {
namespace bench {

/// From now on an interrupt (Ctrl-C) is only taken note of.
void watch_interrupts();
bool is_interrupted();

/// A bar with the time left, in one line on a terminal; nothing anywhere else.
class progress_t {
public:
    explicit progress_t(size_t total);

    /// `done` of the total are behind us and `name` is next.
    void show(size_t done, const std::string &name) const;
    /// Makes way for other output.
    void clear() const;

private:
    size_t total_;
    bool shown_;
    std::chrono::steady_clock::time_point start_;
};

/// Returns rows of measure(case) and prints them as they come. It stops after
/// the last case, or when the user interrupts.
/// @param what The plural of what is measured.
template <typename row_t, typename case_t, typename measure_t, typename print_t>
std::vector<row_t> measure_each(const char *what,
        const std::vector<case_t> &cases, measure_t &&measure,
        print_t &&print_row) {
    watch_interrupts();
    const progress_t progress(cases.size());
    std::vector<row_t> rows;
    for (const auto &c : cases) {
        if (is_interrupted()) break;
        progress.show(rows.size(), c.name());
        row_t row = measure(c);
        progress.clear();
        print_row(row);
        rows.push_back(std::move(row));
    }
    if (rows.size() < cases.size())
        std::printf("\ninterrupted: %zu of %zu %s\n", rows.size(), cases.size(),
                what);
    return rows;
}

} // namespace bench
} // namespace dnnl_dequant

#endif
