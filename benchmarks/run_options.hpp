#ifndef BENCHMARKS_RUN_OPTIONS_HPP
#define BENCHMARKS_RUN_OPTIONS_HPP

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "document.hpp"
#include "measure.hpp"

namespace dnnl_dequant {
namespace bench {

/// Options of all commands that time anything.
struct timing_options_t : output_options_t {
    std::vector<int> threads;
    std::string isa;
    double budget = 0; // seconds a case; 0: by the set
    bool cpu_time = false;
};

void add_timing_options(CLI::App &command, timing_options_t &options);

/// Options of all commands that measure cases.
struct run_options_t : timing_options_t {
    std::string filter;
    bool misalign = false, list = false;
};

void add_run_options(CLI::App &command, run_options_t &options);

// Each throws usage_error_t for what cannot be meant.
void limit_isa(const std::string &name);
std::vector<int> thread_counts(const timing_options_t &options);
std::function<bool(const std::string &)> filter_of(
        const run_options_t &options);
/// For a filter that leaves nothing.
[[noreturn]] void refuse_filter(const run_options_t &options);

template <typename case_t>
void print_names(const std::vector<case_t> &cases) {
    for (const auto &c : cases)
        std::printf("%s\n", c.name().c_str());
}

/// Measures case by case, until there are none or the user interrupts, which
/// leaves the rows so far. A progress line stands on a terminal meanwhile.
/// Throws usage_error_t where a case needs more memory than there is.
std::vector<row_t> measure_all(const std::vector<bench_case_t> &cases,
        const run_options_t &options, const measure_options_t &measure,
        const std::function<void(const row_t &)> &print_row);

/// Every row must have run and have given what the formula says.
template <typename any_row_t>
bool all_right(const std::vector<any_row_t> &rows) {
    return std::all_of(rows.begin(), rows.end(), [](const any_row_t &row) {
        return row.ours.ran() && row.ours.right();
    });
}

} // namespace bench
} // namespace dnnl_dequant

#endif
