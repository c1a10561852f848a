#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "attention/attention_report.hpp"
#include "commands.hpp"
#include "kernels_set.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run_options.hpp"
#include "shapes_set.hpp"
#include "slower.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct kernels_options_t : run_options_t {
    std::string shapes;
    bool quick = false, stock = true;
};

measure_options_t measuring(const kernels_options_t &options) {
    measure_options_t measure;
    measure.with_stock = options.stock;
    measure.cpu_time = options.cpu_time;
    measure.budget = options.quick ? 0.2 : 0.5;
    if (options.budget > 0) measure.budget = options.budget;
    if (options.quick) measure.longest_stock = 0.2;
    // CPU time is for comparing two runs, which takes more samples.
    if (options.quick && !options.cpu_time) measure.min_rounds = 5;
    return measure;
}

// Counts where a kernel of ours ran. oneDNN's own is as fast as itself.
slower_list_t slower_of(const std::vector<row_t> &rows,
        const std::vector<latency_t> &latencies) {
    slower_list_t slower;
    for (const auto &row : rows)
        if (!row.ours.kernel.empty())
            slower.compare(row.c.name(), row.ours.time, row.stock.time);
    for (const auto &latency : latencies)
        slower.compare(latency.name, latency.ours, latency.stock);
    return slower;
}

int run_kernels(const kernels_options_t &options) {
    limit_isa(options.isa);
    const auto wanted = filter_of(options);
    const auto threads = thread_counts(options);
    const auto cases = filtered(options.shapes.empty()
                                        ? kernels_set(threads, options.quick)
                                        : shapes_set(options.shapes, threads),
            wanted);
    // Shapes of models' weights have no attention.
    const auto attentions = filtered(
            options.shapes.empty() ? attention_set(threads, options.quick)
                                   : std::vector<attention_case_t>(),
            wanted);
    check_writable(options);
    if (options.list) {
        print_names(cases);
        print_names(attentions);
        return 0;
    }
    kernels_printer_t printer;
    const machine_t machine = this_machine();
    printer.print_machine(machine);
    printer.print_legend();
    const auto rows = measure_all(cases, options, measuring(options),
            [&](const row_t &row) { printer.print_row(row); });
    const auto attention_rows = measure_caches(attentions, measuring(options));
    const auto latencies = is_interrupted() ? std::vector<latency_t>()
                                            : measure_latencies(wanted);
    if (rows.empty() && attention_rows.empty() && latencies.empty()
            && !is_interrupted())
        refuse_filter(options);
    printer.print_latencies(latencies);
    if (!rows.empty()) printer.print_summary(rows);
    json_t document = document_of("kernels", machine, rows, latencies);
    if (options.stock) {
        const auto slower = slower_of(rows, latencies);
        std::printf("\n%s", slower.text().c_str());
        document["slower_than_stock"] = slower.json();
    }
    add_rows(document, attention_rows);
    write_files(options, document);
    return all_right(rows) && all_right(attention_rows) ? 0 : 1;
}

} // namespace

void add_kernels_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<kernels_options_t>();
    auto *command = app.add_subcommand("kernels",
            "Each op by type, granularity, layout and size, against the "
            "byte-moving limit and stock oneDNN");
    add_run_options(*command, *options);
    command->add_flag("--quick", options->quick,
            "A set that shows every type, granularity and size, in minutes");
    command->add_option("--shapes", options->shapes,
            "The weights of models instead: language, vision, speech, or a "
            "file");
    command->add_flag("--stock,!--no-stock", options->stock,
            "Measure stock oneDNN too (default)");
    command->callback(
            [options, &exit_status] { exit_status = run_kernels(*options); });
}

} // namespace bench
} // namespace dnnl_dequant
