#include <cstdio>
#include <cstdlib>
#include <memory>

#include <unistd.h>

#include "commands.hpp"
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
    bool all = false;
};

std::string default_python() {
    const char *named = std::getenv("DNNL_DEQUANT_PEERS_PYTHON");
    if (named != nullptr && *named != '\0') return named;
    constexpr const char *ours = "build/onnx-venv/bin/python";
    return access(ours, X_OK) == 0 ? ours : "python3";
}

// Beside the program where it was built, in its data folder where installed.
std::string default_script() {
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
    const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
    const std::string folder = self.substr(0, self.rfind('/') + 1);
    const std::string built = folder + script_name;
    if (access(built.c_str(), R_OK) == 0) return built;
    return folder + "../share/dnnl_dequant/" + script_name;
}

class peers_printer_t {
public:
    explicit peers_printer_t(const peer_t &peer) {
        if (peer.absence().empty())
            std::printf("peer   %s\n\n", peer.name().c_str());
        else std::printf("peer   absent: %s\n\n", peer.absence().c_str());
        table_.print_titles();
    }

    void print_row(const row_t &row) const {
        const bool limited = row.has_limit() && row.ours.ran();
        const bool against = row.has_limit() && row.peer.ran();
        const auto gain = row.gain_on_peer();
        table_.print_row({row.c.name(),
                row.has_limit() ? time_text(row.limit().median()) : "",
                time_text(row.ours.time.median()),
                limited ? number_text(row.ratio().median(), 2) : "",
                limited ? number_text(row.best_ratio(), 2) : "",
                time_text(row.peer.time.median()),
                against ? number_text(row.peer_ratio().median(), 2) : "",
                against ? number_text(row.best_ratio(row.peer), 2) : "",
                gain ? times_text(*gain) : "", remark(row)});
    }

private:
    static std::string remark(const row_t &row) {
        if (!row.ours.ran()) return "did not run: " + row.ours.refusal;
        if (!row.ours.right()) return "WRONG";
        if (row.peer.died) return "died: " + row.peer.refusal;
        // Once is enough for what is absent; the heading says why.
        if (row.peer.absent) return "absent";
        if (!row.peer.ran()) return "refused: " + row.peer.refusal;
        return "";
    }

    table_t table_ {{{"row", 70}, {"limit", 8, true}, {"ours", 8, true},
            {"/limit", 6, true}, {"best", 5, true}, {"peer", 8, true},
            {"/limit", 6, true}, {"best", 5, true}, {"gain", 5, true},
            {"", 1}}};
};

std::vector<bench_case_t> cases_of(const peers_options_t &options) {
    const auto threads = thread_counts(options);
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
    std::printf("limit  a plain loop that moves the same bytes; it, we and the "
                "peer take turns\n"
                "best   fastest / the limit's fastest\n"
                "gain   the peer's time / ours\n");
    peer_t peer(options.python.empty() ? default_python() : options.python,
            options.script.empty() ? default_script() : options.script);
    measure_options_t measure;
    measure.with_stock = false;
    measure.cpu_time = options.cpu_time;
    measure.min_rounds = 5; // a slow peer's take long
    if (options.budget > 0) measure.budget = options.budget;
    measure.peer = &peer;
    const peers_printer_t printer(peer);
    const auto rows = measure_all(cases, options, measure,
            [&](const row_t &row) { printer.print_row(row); });
    write_files(options, document_of("peers", machine, rows, {}));
    return all_right(rows) ? 0 : 1;
}

} // namespace

void add_peers_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<peers_options_t>();
    auto *command = app.add_subcommand("peers",
            "The same ops by ONNX Runtime, in turns with us, against "
            "the byte-moving limit");
    add_run_options(*command, *options);
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
