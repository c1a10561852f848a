#include "run_options.hpp"

#include <cstdio>
#include <regex>

#include <CLI/CLI.hpp>
#include <omp.h>

#include "commands.hpp"
#include "machine.hpp"
#include "memory_left.hpp"
#include "progress.hpp"

namespace dnnl_dequant {
namespace bench {

void add_timing_options(CLI::App &command, timing_options_t &options) {
    command.add_option("--threads", options.threads,
                   "Thread counts, such as 1,2 (default: 1 and all)")
            ->delimiter(',')
            ->allow_extra_args(false); // or it would take the files behind it
    command.add_option("--isa", options.isa,
            "Cap the instruction set of oneDNN and the plugin, such as avx2");
    command.add_option("--budget", options.budget,
                   "Seconds to spend on a case (default: 0.5, quick 0.2)")
            ->check(CLI::Range(1e-3, 3600.));
    command.add_flag("--cpu-time", options.cpu_time,
            "One thread, by its CPU time: for a machine that others use too");
    add_output_options(command, options);
}

void add_run_options(CLI::App &command, run_options_t &options) {
    add_timing_options(command, options);
    command.add_option("--filter", options.filter,
            "Only cases whose name has a match of this regular expression");
    command.add_flag("--misalign", options.misalign,
            "Put buffers 16 bytes past a cache line instead of on one");
    command.add_flag("--list", options.list, "Print the names and stop");
}

void limit_isa(const std::string &name) {
    if (name.empty()) return;
    for (const auto &known : isa_names())
        if (name == known.name) {
            if (dnnl::set_max_cpu_isa(known.isa) != dnnl::status::success)
                throw usage_error_t("this oneDNN does not let --isa cap the "
                                    "instruction set");
            return;
        }
    std::string all;
    for (const auto &known : isa_names())
        all += std::string(all.empty() ? "" : ", ") + known.name;
    throw usage_error_t("--isa " + name + " is none of " + all);
}

std::vector<int> thread_counts(const timing_options_t &options) {
    const int most = omp_get_num_procs();
    if (options.cpu_time && options.threads.empty()) return {1};
    if (options.threads.empty())
        return most > 1 ? std::vector<int> {1, most} : std::vector<int> {1};
    for (const int n : options.threads)
        if (n < 1 || n > most)
            throw usage_error_t("--threads " + std::to_string(n)
                                + " is not between 1 and the "
                                + std::to_string(most)
                                + " processors of this machine");
        else if (n > 1 && options.cpu_time)
            throw usage_error_t("--cpu-time is for one thread alone");
    return options.threads;
}

std::function<bool(const std::string &)> filter_of(
        const run_options_t &options) {
    try {
        return [filter = std::regex(options.filter)](const std::string &name) {
            return std::regex_search(name, filter);
        };
    } catch (const std::regex_error &) {
        throw usage_error_t(
                "--filter " + options.filter + " is not a regular expression");
    }
}

void refuse_filter(const run_options_t &options) {
    throw usage_error_t(
            "--filter " + options.filter + " matches no case; see --list");
}

std::vector<row_t> measure_all(const std::vector<bench_case_t> &cases,
        const run_options_t &options, const measure_options_t &measure,
        const std::function<void(const row_t &)> &print_row) {
    for (const auto &c : cases)
        check_memory(c.name(), static_cast<double>(c.bytes()));
    watch_interrupts();
    arena_t arena(options.misalign);
    const progress_t progress(cases.size());
    std::vector<row_t> rows;
    for (const auto &c : cases) {
        if (is_interrupted()) break;
        progress.show(rows.size(), c.name());
        row_t row = measure_case(c, arena, measure);
        progress.clear();
        print_row(row);
        rows.push_back(std::move(row));
    }
    if (rows.size() < cases.size())
        std::printf(
                "\ninterrupted: %zu of %zu rows\n", rows.size(), cases.size());
    return rows;
}

} // namespace bench
} // namespace dnnl_dequant
