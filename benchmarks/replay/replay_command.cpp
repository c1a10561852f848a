#include <cstdio>
#include <memory>
#include <new>

#include <CLI/CLI.hpp>
#include <omp.h>

#include "commands.hpp"
#include "graph_replay.hpp"
#include "progress.hpp"
#include "replay_report.hpp"
#include "report.hpp"
#include "run_options.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct replay_command_t : timing_options_t {
    std::vector<std::string> files;
    bool stock = true;
};

class replay_session_t {
public:
    explicit replay_session_t(const replay_command_t &options)
        : options_(options) {
        // One thread count: the graphs run as a user would run them.
        const auto threads = options.threads.empty() && !options.cpu_time
                                     ? std::vector<int> {omp_get_num_procs()}
                                     : thread_counts(options);
        if (threads.size() != 1)
            throw usage_error_t("replay takes one count of --threads");
        replay_.threads = threads.front();
        replay_.cpu_time = options.cpu_time;
        replay_.with_stock = options.stock;
        if (options.budget > 0) replay_.budget = options.budget;
    }

    int run() {
        const machine_t machine = this_machine();
        document_ = new_document("replay", machine);
        kernels_printer_t::print_machine(machine);
        printer_.print_legend();
        for (const auto &path : options_.files)
            if (!is_interrupted()) run_file(path);
        if (is_interrupted())
            std::printf("\ninterrupted: %zu rows of some of the %zu files\n",
                    document_["rows"].size(), options_.files.size());
        write_files(options_, document_);
        return refused_ > 0 ? 2 : wrong_ > 0 ? 1 : 0;
    }

private:
    void run_file(const std::string &path) {
        try {
            graph_replay_t replay(read_graph_file(path));
            printer_.print_graph(replay.file());
            run_graph(replay);
        } catch (const file_error_t &e) {
            refuse(path, e.what());
        } catch (const std::bad_alloc &) {
            refuse(path, "there is not enough memory for it");
        }
    }

    void run_graph(graph_replay_t &replay) {
        const progress_t progress(replay.size());
        std::vector<replay_row_t> rows;
        for (size_t i = 0; i < replay.size() && !is_interrupted(); i++) {
            progress.show(i, replay.name_of(i));
            rows.push_back(replay.run(i, replay_));
            progress.clear();
            printer_.print_row(rows.back());
            wrong_ += rows.back().check.verdict == verdict_t::wrong;
            document_["rows"].push_back(
                    replay_row_json(replay.file(), rows.back()));
        }
        printer_.print_sum(rows);
    }

    void refuse(const std::string &path, const char *why) {
        std::fflush(stdout);
        std::fprintf(stderr, "dnnl-dequant-bench: %s: %s\n", path.c_str(), why);
        refused_++;
    }

    const replay_command_t &options_;
    replay_options_t replay_;
    replay_printer_t printer_;
    json_t document_;
    size_t refused_ = 0, wrong_ = 0;
};

} // namespace

void add_replay_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<replay_command_t>();
    auto *command = app.add_subcommand("replay",
            "Run graphs that ONEDNN_GRAPH_DUMP=graph wrote, with stock oneDNN "
            "and with the plugin in turns");
    command->add_option("files", options->files, "The graphs (JSON)")
            ->required();
    add_timing_options(*command, *options);
    command->add_flag("--stock,!--no-stock", options->stock,
            "Run stock oneDNN too (default); its reference code may take "
            "seconds");
    command->callback([options, &exit_status] {
        limit_isa(options->isa);
        check_writable(*options);
        watch_interrupts();
        exit_status = replay_session_t(*options).run();
    });
}

} // namespace bench
} // namespace dnnl_dequant
