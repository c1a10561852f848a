#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include <unistd.h>

#include "commands.hpp"
#include "data_file.hpp"
#include "kernels_set.hpp"
#include "linear_set.hpp"
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

std::string default_python() {
    const char *named = std::getenv("DNNL_DEQUANT_PEERS_PYTHON");
    if (named != nullptr && *named != '\0') return named;
    constexpr const char *ours = "build/onnx-venv/bin/python";
    return access(ours, X_OK) == 0 ? ours : "python3";
}

class peers_printer_t {
public:
    peers_printer_t(const peer_t &peer, const ggml_peer_t &ggml) {
        print_peer("ORT  ", peer.name(), peer.absence());
        print_peer("ggml ", ggml.name(), ggml.absence());
        std::printf("\n");
        table_.print_titles();
    }

    void print_row(const row_t &row) const {
        std::vector<std::string> cells {row.c.name(),
                row.has_limit() ? time_text(row.limit().median()) : ""};
        for (const auto *contender :
                {&row.ours, &row.stock, &row.peer, &row.ggml}) {
            const bool ran = contender->ran();
            const bool limited = ran && row.has_limit();
            cells.push_back(
                    ran ? (contender->estimated ? "~" : "")
                                    + time_text(contender->time.median())
                        : absence_text(*contender));
            cells.push_back(
                    limited ? number_text(row.ratio_of_contender(*contender)
                                                  .median(),
                                      2)
                            : "");
            if (contender == &row.ours)
                cells.push_back(limited ? spread_text(row.ratio()) : "");
        }
        const auto best = best_gain(row);
        cells.push_back(best ? times_text(*best) : "");
        cells.push_back(remark(row));
        table_.print_row(cells);
    }

private:
    static void print_peer(const char *label, const std::string &name,
            const std::string &absence) {
        std::printf("%s %s\n", label,
                absence.empty() ? name.c_str()
                                : ("absent: " + absence).c_str());
    }

    static std::string absence_text(const contender_t &contender) {
        return contender.absent ? "absent" : contender.died ? "died" : "-";
    }

    static std::string spread_text(const samples_t &ratio) {
        return number_text(ratio.quantile(0.25), 2) + "-"
               + number_text(ratio.quantile(0.75), 2);
    }

    // Over the fastest of the others.
    static std::optional<double> best_gain(const row_t &row) {
        std::optional<double> best = row.gain();
        for (const auto *other : {&row.peer, &row.ggml})
            if (const auto gain = row.gain_on(*other))
                best = best ? std::min(*best, *gain) : *gain;
        return best;
    }

    static std::string remark(const row_t &row) {
        if (!row.ours.ran()) return "did not run: " + row.ours.refusal;
        if (!row.ours.right()) return "WRONG";
        if (row.peer.died) return "ORT died: " + row.peer.refusal;
        // Once is enough for what is absent; the heading says why.
        if (!row.peer.ran() && !row.peer.absent)
            return "ORT refused: " + row.peer.refusal;
        return row.ggml.ran() ? "ggml " + row.ggml.kernel : "";
    }

    table_t table_ {{{"row", 71}, {"limit", 8, true}, {"ours", 8, true},
            {"/limit", 6, true}, {"quartiles", 9}, {"stock", 8, true},
            {"/limit", 7, true}, {"ORT", 8, true}, {"/limit", 6, true},
            {"ggml", 8, true}, {"/limit", 6, true}, {"gain", 6, true},
            {"", 1}}};
};

std::vector<bench_case_t> cases_of(const peers_options_t &options) {
    auto threads = thread_counts(options);
    if (options.quick && options.threads.empty()) threads.resize(1);
    return filtered(
            options.all ? kernels_set(threads, false) : peers_set(threads),
            filter_of(options));
}

int run_peers(const peers_options_t &options) {
    limit_isa(options.isa);
    const auto cases = cases_of(options);
    check_writable(options);
    if (cases.empty()) refuse_filter(options);
    if (options.list) {
        print_names(cases);
        return 0;
    }
    const machine_t machine = this_machine();
    kernels_printer_t::print_machine(machine);
    std::printf(
            "limit  a plain loop that moves the same bytes; all take turns\n"
            "stock  oneDNN without the plugin; ~ estimated from a part of "
            "the rows\n"
            "ORT    ONNX Runtime, in a process of its own\n"
            "ggml   its own blocks of as many bits\n"
            "gain   the fastest other's time / ours; -: has no such thing\n\n");
    peer_t peer(options.python.empty() ? default_python() : options.python,
            options.script.empty() ? data_file(script_name) : options.script);
    measure_options_t measure;
    ggml_peer_t ggml;
    measure.longest_stock = 0.2;
    measure.ggml = &ggml;
    if (options.quick) measure.budget = 0.2;
    measure.cpu_time = options.cpu_time;
    measure.min_rounds = 5; // a slow peer's take long
    if (options.budget > 0) measure.budget = options.budget;
    measure.peer = &peer;
    const peers_printer_t printer(peer, ggml);
    const auto rows = measure_all(cases, options, measure,
            [&](const row_t &row) { printer.print_row(row); });
    write_files(options, document_of("peers", machine, rows, {}));
    return all_right(rows) ? 0 : 1;
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
