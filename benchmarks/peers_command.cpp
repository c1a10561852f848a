#include <cstdio>
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "attention/attention_report.hpp"
#include "commands.hpp"
#include "data_file.hpp"
#include "kernels_set.hpp"
#include "linear_set.hpp"
#include "memory_left.hpp"
#include "peers_printer.hpp"
#include "product/product_report.hpp"
#include "product/xnnpack_peer.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run_options.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr const char *script_name = "peer_onnxruntime.py";

struct peers_options_t : run_options_t {
    std::string python, script;
    bool all = false, quick = false;
};

void print_peer(const char *label, const std::string &name,
        const std::string &absence) {
    std::printf("%s %s\n", label,
            absence.empty() ? name.c_str() : ("absent: " + absence).c_str());
}

std::vector<int> threads_of(const peers_options_t &options) {
    auto threads = thread_counts(options);
    if (options.quick && options.threads.empty()) threads.resize(1);
    return threads;
}

std::vector<bench_case_t> cases_of(const peers_options_t &options) {
    const auto threads = threads_of(options);
    return filtered(
            options.all ? kernels_set(threads, false) : peers_set(threads),
            filter_of(options));
}

std::vector<product_case_t> products_of(const peers_options_t &options) {
    return filtered(products_set(threads_of(options), options.quick),
            filter_of(options));
}

std::vector<attention_case_t> attentions_of(const peers_options_t &options) {
    return filtered(attention_set(threads_of(options), options.quick),
            filter_of(options));
}

void print_legend() {
    std::printf(
            "limit  a plain loop that moves the same bytes; all take turns\n"
            "stock  oneDNN without the plugin; ~ estimated from a part of "
            "the rows\n"
            "ORT    ONNX Runtime, in a process of its own\n"
            "ggml   its own blocks of as many bits\n"
            "gain   the fastest other's time / ours; -: has no such thing\n\n");
}

measure_options_t measuring(const peers_options_t &options) {
    measure_options_t measure;
    measure.longest_stock = 0.2;
    if (options.quick) measure.budget = 0.2;
    measure.cpu_time = options.cpu_time;
    measure.min_rounds = 5; // a slow peer's take long
    if (options.budget > 0) measure.budget = options.budget;
    return measure;
}

std::vector<row_t> measure_ops(const std::vector<bench_case_t> &cases,
        const peers_options_t &options, const measure_options_t &measure) {
    if (cases.empty()) return {};
    const peers_printer_t printer;
    return measure_all(cases, options, measure,
            [&](const row_t &row) { printer.print_row(row); });
}

std::vector<product_row_t> measure_matmuls(
        const std::vector<product_case_t> &cases,
        const measure_options_t &measure) {
    if (cases.empty() || is_interrupted()) return {};
    const products_printer_t printer;
    printer.print_legend();
    return measure_products(cases, measure,
            [&](const product_row_t &row) { printer.print_row(row); });
}

int run_peers(const peers_options_t &options) {
    limit_isa(options.isa);
    const auto cases = cases_of(options);
    const auto products = products_of(options);
    const auto attentions = attentions_of(options);
    check_writable(options);
    if (cases.empty() && products.empty() && attentions.empty())
        refuse_filter(options);
    if (options.list) {
        print_names(cases);
        print_names(products);
        print_names(attentions);
        return 0;
    }
    const machine_t machine = this_machine();
    for (const auto &c : products)
        check_memory(c.name(), bytes_needed(c, machine.l3_bytes));
    for (const auto &c : attentions)
        check_memory(c.name(), bytes_needed(c, machine.l3_bytes));
    kernels_printer_t::print_machine(machine);
    print_legend();
    peer_t peer(options.python.empty() ? python() : options.python,
            options.script.empty() ? data_file(script_name) : options.script);
    ggml_peer_t ggml;
    xnnpack_peer_t xnnpack;
    print_peer("ORT  ", peer.name(), peer.absence());
    print_peer("ggml ", ggml.name(), ggml.absence());
    print_peer("XNN  ", xnnpack.name(), xnnpack.absence());
    measure_options_t measure = measuring(options);
    measure.ggml = &ggml;
    measure.xnnpack = &xnnpack;
    measure.peer = &peer;
    const auto rows = measure_ops(cases, options, measure);
    const auto product_rows = measure_matmuls(products, measure);
    const auto attention_rows = measure_caches(attentions, measure);
    json_t document = document_of("peers", machine, rows, {});
    for (const auto &row : product_rows)
        document["rows"].push_back(product_row_json(row));
    add_rows(document, attention_rows);
    write_files(options, document);
    return all_right(rows) && all_right(product_rows)
                           && all_right(attention_rows)
                   ? 0
                   : 1;
}

} // namespace

void add_peers_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<peers_options_t>();
    auto *command
            = app.add_subcommand("peers", "The same ops by stock oneDNN, ONNX "
                                          "Runtime and ggml, in turns, against "
                                          "the byte-moving limit");
    add_run_options(*command, *options);
    command->add_flag(
            "--quick", options->quick, "One thread, and less time a case");
    command->add_flag("--all", options->all,
            "Every case of `kernels` instead of a few dozen");
    command->add_option("--python", options->python,
            "The Python that has onnxruntime and onnx (default: "
            "$DNNL_DEQUANT_PEERS_PYTHON, build/onnx-venv/bin/python or "
            "python3)");
    command->add_option("--peer-script", options->script,
            "The program that it runs (default: ONNX Runtime's)");
    command->callback(
            [options, &exit_status] { exit_status = run_peers(*options); });
}

} // namespace bench
} // namespace dnnl_dequant
