#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>

#include <omp.h>
#include <unistd.h>

#include "commands.hpp"
#include "kernels_set.hpp"
#include "report.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct kernels_options_t {
    std::vector<int> threads;
    std::string isa, filter, json, csv;
    double budget = 0; // seconds a case; 0: by the set
    bool quick = false, stock = true, misalign = false, cpu_time = false,
         list = false;
};

volatile std::sig_atomic_t interrupted = 0;

// One line on a terminal, none anywhere else.
class progress_t {
public:
    explicit progress_t(size_t total)
        : total_(total)
        , shown_(isatty(STDERR_FILENO) != 0) {}

    void show(size_t done, const std::string &name) const {
        if (!shown_) return;
        std::fprintf(
                stderr, "\r\x1b[K[%zu/%zu] %s", done + 1, total_, name.c_str());
        std::fflush(stderr);
    }
    void clear() const {
        if (shown_) std::fprintf(stderr, "\r\x1b[K");
    }

private:
    size_t total_;
    bool shown_;
};

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

void check_writable(const char *option, const std::string &path) {
    if (!path.empty() && !std::ofstream(path, std::ios::app))
        throw usage_error_t(
                std::string(option) + " " + path + " cannot be written");
}

std::vector<int> thread_counts(const kernels_options_t &options) {
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

std::regex filter_of(const kernels_options_t &options) {
    try {
        return std::regex(options.filter);
    } catch (const std::regex_error &) {
        throw usage_error_t(
                "--filter " + options.filter + " is not a regular expression");
    }
}

std::vector<row_t> measure_all(const std::vector<bench_case_t> &cases,
        const kernels_options_t &options, kernels_printer_t &printer) {
    arena_t arena(options.misalign);
    measure_options_t measure;
    measure.with_stock = options.stock;
    measure.cpu_time = options.cpu_time;
    measure.budget = options.quick ? 0.2 : 0.5;
    if (options.budget > 0) measure.budget = options.budget;
    if (options.quick) measure.longest_stock = 0.2;
    const progress_t progress(cases.size());
    std::vector<row_t> rows;
    for (const auto &c : cases) {
        if (interrupted) break;
        progress.show(rows.size(), c.name());
        row_t row = measure_case(c, arena, measure);
        progress.clear();
        printer.print_row(row);
        rows.push_back(std::move(row));
    }
    return rows;
}

// Every row must have run and have given the formula's bits.
bool all_right(const std::vector<row_t> &rows) {
    for (const auto &row : rows)
        if (!row.ours.ran() || !row.ours.right()) return false;
    return true;
}

int run_kernels(const kernels_options_t &options) {
    limit_isa(options.isa);
    const std::regex filter = filter_of(options);
    const auto wanted = [&](const std::string &name) {
        return std::regex_search(name, filter);
    };
    const auto cases = filtered(
            kernels_set(thread_counts(options), options.quick), wanted);
    check_writable("--json", options.json);
    check_writable("--csv", options.csv);
    if (options.list) {
        for (const auto &c : cases)
            std::printf("%s\n", c.name().c_str());
        return 0;
    }
    std::signal(SIGINT, [](int) { interrupted = 1; });

    kernels_printer_t printer;
    const machine_t machine = this_machine();
    printer.print_machine(machine);
    const auto rows = measure_all(cases, options, printer);
    const auto latencies = interrupted ? std::vector<latency_t>()
                                       : measure_latencies(wanted);
    if (rows.empty() && latencies.empty() && !interrupted)
        throw usage_error_t(
                "--filter " + options.filter + " matches no case; see --list");
    printer.print_latencies(latencies);
    printer.print_summary(rows);
    if (!options.json.empty()
            && !write_json(options.json, machine, rows, latencies))
        throw std::runtime_error(options.json + " could not be written");
    if (!options.csv.empty() && !write_csv(options.csv, rows))
        throw std::runtime_error(options.csv + " could not be written");
    return all_right(rows) ? 0 : 1;
}

} // namespace

void add_kernels_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<kernels_options_t>();
    auto *command = app.add_subcommand("kernels",
            "DynamicDequantize by type, granularity, layout and size, against "
            "the byte-moving limit and stock oneDNN");
    command->add_option("--threads", options->threads,
                   "Thread counts, such as 1,2 (default: 1 and all)")
            ->delimiter(',');
    command->add_option("--isa", options->isa,
            "Cap the instruction set of oneDNN and the plugin, such as avx2");
    command->add_option("--filter", options->filter,
            "Only cases whose name has a match of this regular expression");
    command->add_option("--budget", options->budget,
                   "Seconds to spend on a case (default: 0.5, quick 0.2)")
            ->check(CLI::PositiveNumber);
    command->add_flag("--quick", options->quick,
            "A set that shows every type, granularity and size, in minutes");
    command->add_flag("--stock,!--no-stock", options->stock,
            "Measure stock oneDNN too (default)");
    command->add_flag("--cpu-time", options->cpu_time,
            "One thread, by its CPU time: for a machine that others use too");
    command->add_flag("--misalign", options->misalign,
            "Put buffers 16 bytes past a cache line instead of on one");
    command->add_flag("--list", options->list, "Print the names and stop");
    command->add_option("--json", options->json, "Write all figures there");
    command->add_option("--csv", options->csv, "Write the table there");
    command->callback(
            [options, &exit_status] { exit_status = run_kernels(*options); });
}

} // namespace bench
} // namespace dnnl_dequant
