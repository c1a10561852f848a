#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <omp.h>

#include "commands.hpp"
#include "document.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run_options.hpp"
#include "serve_mix.hpp"
#include "server.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct serve_options_t : output_options_t {
    std::vector<std::string> files;
    std::string isa;
    int threads = omp_get_num_procs();
    int omp_threads = 1;
    double seconds = 20;
};

// Plugin and stock take turns in slices, so that both meet the same moods of
// the machine.
constexpr double longest_slice = 2;

struct side_t {
    const char *name;
    owner_t owner;
    std::unique_ptr<server_t> server;
    served_calls_t calls;
    double growth = 0; // of the resident memory while it served
};

struct memory_point_t {
    double seconds, bytes;
    const char *side; // who served until then
};

// null where there were too few calls to know.
json_t to_json(const latencies_t &latencies, double seconds) {
    json_t j {{"count", latencies.count()},
            {"per_second", static_cast<double>(latencies.count()) / seconds},
            {"p50", latencies.quantile(0.5)}, {"p99", nullptr},
            {"p999", nullptr}, {"max", latencies.max()}};
    if (const auto p99 = latencies.tail(0.99)) j["p99"] = *p99;
    if (const auto p999 = latencies.tail(0.999)) j["p999"] = *p999;
    return j;
}

std::string tail_text(const latencies_t &latencies, double q) {
    const auto tail = latencies.tail(q);
    return tail ? time_text(*tail) : "-";
}

class serve_session_t {
public:
    explicit serve_session_t(const serve_options_t &options)
        : options_(options) {
        sides_[0].name = "plugin";
        sides_[0].owner = owner_t::plugin;
        sides_[1].name = "stock";
        sides_[1].owner = owner_t::stock;
    }

    int run() {
        const machine_t machine = this_machine();
        kernels_printer_t::print_machine(machine);
        load();
        if (served_.empty()) {
            std::fflush(stdout);
            std::fprintf(stderr, "dnnl-dequant-bench: nothing to serve\n");
            return 2;
        }
        serve();
        print();
        write_files(options_, document(machine));
        for (const auto &side : sides_)
            if (!side.calls.failure.empty()) return 1;
        return refused_ > 0 ? 2 : 0;
    }

private:
    std::vector<graph_file_t> graphs() {
        if (options_.files.empty()) return standard_mix();
        std::vector<graph_file_t> read;
        for (const auto &path : options_.files) {
            try {
                read.push_back(read_graph_file(path));
                check_memory(read.back());
            } catch (const file_error_t &e) {
                std::fprintf(stderr, "dnnl-dequant-bench: %s: %s\n",
                        path.c_str(), e.what());
                refused_++;
                if (!read.empty() && read.back().path == path) read.pop_back();
            }
        }
        return read;
    }

    // Both serve the same: what one of them cannot run, neither does.
    void load() {
        const auto mix = graphs();
        for (auto &side : sides_)
            side.server = std::make_unique<server_t>(mix, side.owner);
        std::vector<bool> wanted;
        for (size_t i = 0; i < mix.size(); i++) {
            wanted.push_back(true);
            for (const auto &side : sides_) {
                const std::string &why = side.server->refusals()[i];
                if (why.empty()) continue;
                wanted[i] = false;
                std::printf("not served: %s (%s: %s)\n", mix[i].path.c_str(),
                        side.name, why.c_str());
            }
            if (wanted[i]) served_.push_back(mix[i].path);
        }
        for (auto &side : sides_)
            side.server->keep(wanted);
    }

    void serve() {
        const int turns = std::max(
                2, static_cast<int>(options_.seconds / longest_slice / 2));
        const double slice = options_.seconds / (2 * turns);
        const size_t slices = static_cast<size_t>(2 * turns);
        const progress_t progress(slices);
        remember(0, "start");
        for (size_t i = 0; i < slices && !is_interrupted(); i++) {
            side_t &side = sides_[i % 2];
            progress.show(i, side.name);
            const double before = resident_bytes();
            side.calls.add(side.server->serve(
                    options_.threads, options_.omp_threads, slice));
            side.growth += resident_bytes() - before;
            remember(slice * static_cast<double>(i + 1), side.name);
            progress.clear();
        }
    }

    void remember(double seconds, const char *side) {
        memory_.push_back({seconds, resident_bytes(), side});
    }

    void print() const {
        std::printf("%zu graphs, %d threads with %d OpenMP threads each, %g s; "
                    "plugin and stock in turns\n\n",
                served_.size(), options_.threads, options_.omp_threads,
                options_.seconds);
        if (is_interrupted())
            std::printf("interrupted after %.3g s\n\n",
                    sides_[0].calls.seconds + sides_[1].calls.seconds);
        const table_t table({{"call", 13}, {"by", 6}, {"count", 9, true},
                {"per second", 10, true}, {"p50", 8, true}, {"p99", 8, true},
                {"p99.9", 8, true}, {"max", 8, true}, {"gain", 6, true}});
        table.print_titles();
        print_calls(table, "execute", &served_calls_t::execute);
        print_calls(table, "compile, hit", &served_calls_t::hit);
        print_calls(table, "compile, miss", &served_calls_t::miss);
        std::printf("-: too few calls to know\n\n");
        for (const auto &side : sides_)
            std::printf("%-6s %6.1f GB/s in all, resident memory %+.1f MB "
                        "while it served%s\n",
                    side.name, gigabytes_per_second(side), side.growth / 1e6,
                    side.calls.failure.empty()
                            ? ""
                            : ("; FAILED: " + side.calls.failure).c_str());
        std::printf("resident memory over time, MB:");
        const size_t step = std::max<size_t>(memory_.size() / 8, 1);
        for (size_t i = 0; i < memory_.size(); i += step)
            std::printf(" %.0f", memory_[i].bytes / 1e6);
        std::printf("\n");
    }

    void print_calls(const table_t &table, const char *name,
            latencies_t served_calls_t::*which) const {
        const double stock = (sides_[1].calls.*which).quantile(0.5);
        for (const auto &side : sides_) {
            const latencies_t &l = side.calls.*which;
            const double rate = static_cast<double>(l.count())
                                / std::max(side.calls.seconds, 1e-9);
            const double own = l.quantile(0.5);
            const bool plugin = side.owner == owner_t::plugin;
            table.print_row({name, side.name, std::to_string(l.count()),
                    number_text(rate, 0), time_text(own), tail_text(l, 0.99),
                    tail_text(l, 0.999), time_text(l.max()),
                    plugin && own > 0 ? times_text(stock / own) : ""});
        }
    }

    static double gigabytes_per_second(const side_t &side) {
        return side.calls.bytes / std::max(side.calls.seconds, 1e-9) / 1e9;
    }

    json_t document(const machine_t &machine) const {
        json_t document = new_document("serve", machine);
        const auto add
                = [&](const char *name, latencies_t served_calls_t::*which) {
            json_t row {{"name", name}};
            for (const auto &side : sides_)
                row[side.name] = to_json(
                        side.calls.*which, std::max(side.calls.seconds, 1e-9));
            document["rows"].push_back(row);
        };
        add("execute", &served_calls_t::execute);
        add("compile hit", &served_calls_t::hit);
        add("compile miss", &served_calls_t::miss);
        document["graphs"] = served_;
        document["threads"] = options_.threads;
        document["omp_threads"] = options_.omp_threads;
        for (const auto &side : sides_)
            document[std::string(side.name) + "_serving"] = {
                    {"seconds", side.calls.seconds},
                    {"gigabytes_per_second", gigabytes_per_second(side)},
                    {"resident_growth_bytes", side.growth},
                    {"failure", side.calls.failure}};
        document["memory"] = json_t::array();
        for (const auto &point : memory_)
            document["memory"].push_back({{"seconds", point.seconds},
                    {"bytes", point.bytes}, {"side", point.side}});
        return document;
    }

    const serve_options_t &options_;
    side_t sides_[2];
    std::vector<std::string> served_;
    std::vector<memory_point_t> memory_;
    size_t refused_ = 0;
};

} // namespace

void add_serve_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<serve_options_t>();
    auto *command = app.add_subcommand("serve",
            "Threads that compile and execute a mix of partitions for a time: "
            "throughput, latencies, memory; stock oneDNN and the plugin");
    command->add_option("files", options->files,
            "Graphs to serve (default: a mix of dequantizes)");
    command->add_option(
                   "--threads", options->threads, "Threads that call (all)")
            ->check(CLI::Range(1, 1024));
    command->add_option("--omp-threads", options->omp_threads,
                   "OpenMP threads of each (1)")
            ->check(CLI::Range(1, 1024));
    command->add_option("--seconds", options->seconds,
                   "How long, both together (20)")
            ->check(CLI::Range(0.1, 1e6));
    command->add_option("--isa", options->isa,
            "Cap the instruction set of oneDNN and the plugin, such as avx2");
    add_output_options(*command, *options);
    command->callback([options, &exit_status] {
        limit_isa(options->isa);
        check_writable(*options);
        watch_interrupts();
        exit_status = serve_session_t(*options).run();
    });
}

} // namespace bench
} // namespace dnnl_dequant
