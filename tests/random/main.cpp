// Random graphs over oneDNN's ops, with the plugin and without it.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include <CLI/CLI.hpp>

#include "random/processes.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

struct options_t {
    std::string worker, plugin;
    uint64_t jobs = 1;
    chunk_t chunk;
    std::vector<uint64_t> skipped, dropped; // seed and call in turns; seeds
};

void add_options(CLI::App &app, options_t &options) {
    chunk_t &chunk = options.chunk;
    app.add_option("--plugin", options.plugin, "the library to be preloaded");
    app.add_option("--seed", chunk.first, "of the first graph");
    app.add_option("--graphs", chunk.count, "how many");
    app.add_option("--jobs", options.jobs, "processes at work at once");
    app.add_flag("--print", chunk.prints, "print every graph");
    // Between this program's processes.
    const std::string hidden;
    app.add_option("--worker", options.worker)->group(hidden);
    app.add_option("--records", chunk.records)->group(hidden);
    app.add_option("--again", chunk.again)->group(hidden);
    app.add_option("--note", chunk.note)->group(hidden);
    app.add_option("--tally", chunk.tally)->group(hidden);
    app.add_option("--wrong", chunk.wrong)->group(hidden);
    app.add_option("--skip", options.skipped)->group(hidden);
    app.add_option("--drop", options.dropped)->group(hidden);
}

// A crash is a result here and leaves no core. oneDNN asks for any memory where
// a graph is not valid.
void limit_resources() {
    const rlimit none {0, 0}, addresses {4ull << 30, 4ull << 30};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_AS, &addresses);
}

std::string new_folder() {
    const char *const root = std::getenv("TMPDIR");
    std::string name = std::string(root ? root : P_tmpdir) + "/random_XXXXXX";
    if (!mkdtemp(&name[0])) throw std::runtime_error("no folder " + name);
    return name;
}

// Chunks of this many graphs share the start of a process.
constexpr uint64_t chunk_size = 50;

class lanes_t {
public:
    lanes_t(const options_t &options, const std::string &folder)
        : options_(options)
        , folder_(folder) {}

    bool run() {
        std::vector<std::thread> lanes;
        for (uint64_t n = 0; n < std::max<uint64_t>(options_.jobs, 1); ++n)
            lanes.emplace_back([this] { work(); });
        for (auto &lane : lanes)
            lane.join();
        for (const auto &entry : tally_.counts)
            if (!is_of_kind(entry.first))
                std::cout << entry.second << " " << entry.first << '\n';
        return every_kind_ran() && most_were_compared() && right_;
    }

private:
    static bool is_of_kind(const std::string &what) {
        return what.find(executed_kind) == 0 || what.find(refused_kind) == 0;
    }

    // Some graphs end the process without the plugin, too.
    bool most_were_compared() const {
        const auto found = tally_.counts.find("graphs");
        const uint64_t compared
                = found == tally_.counts.end() ? 0 : found->second;
        const bool most = compared * 10 >= options_.chunk.count * 9;
        if (!most) std::cout << "only " << compared << " were compared\n";
        return most;
    }

    // The generator makes what the test is about: of many graphs, some have
    // each kind, and all but a few kinds are executed.
    bool every_kind_ran() const {
        constexpr int last_kind
                = static_cast<int>(dnnl::graph::op::kind::GreaterEqual);
        int executed = 0, made = 0;
        for (int kind = 0; kind <= last_kind; ++kind) {
            const std::string number = std::to_string(kind);
            const bool ran = tally_.counts.count(executed_kind + number) != 0;
            executed += ran;
            made += ran || tally_.counts.count(refused_kind + number) != 0;
        }
        std::cout << "of " << last_kind + 1 << " kinds of ops " << made
                  << " were in graphs, " << executed << " were executed\n";
        return options_.chunk.count < 1000
               || (made > last_kind && executed > last_kind - 7);
    }

    void work() {
        const uint64_t total = options_.chunk.count;
        for (;;) {
            const uint64_t begin = next_.fetch_add(chunk_size);
            if (begin >= total) return;
            chunk_t chunk = options_.chunk;
            chunk.first += begin;
            chunk.count = std::min(chunk_size, total - begin);
            const std::string name = folder_ + "/" + std::to_string(begin);
            chunk.records = name + ".records";
            chunk.again = name + ".again";
            chunk.note = name + ".note";
            chunk.wrong = name + ".wrong";
            chunk.tally = name + ".tally";
            tally_t tally;
            const bool right = run(chunk, tally);
            const std::lock_guard<std::mutex> lock(mutex_);
            right_ = right_ && right;
            for (const auto &entry : tally.counts)
                tally_.count(entry.first, entry.second);
        }
    }

    // A wrong graph among others is tried alone: memory that oneDNN damaged in
    // the graphs before (invalid ones, most often) is no fault of the plugin's.
    bool run(chunk_t chunk, tally_t &tally) const {
        try {
            const auto wrong = run_chunk(chunk, options_.plugin, tally);
            if (chunk.count == 1) return wrong.empty();
            bool right = true;
            chunk.count = 1;
            for (const uint64_t seed : wrong) {
                chunk.first = seed;
                tally.count("graphs tried once more, alone");
                right = run_chunk(chunk, options_.plugin, tally).empty()
                        && right;
            }
            return right;
        } catch (const std::exception &error) {
            std::cout << "graphs from seed " << chunk.first << ": "
                      << error.what() << '\n';
            return false;
        }
    }

    const options_t &options_;
    const std::string folder_;
    std::atomic<uint64_t> next_ {0};
    std::mutex mutex_;
    tally_t tally_;
    bool right_ = true;
};

bool run_all(const options_t &options) {
    const std::string folder = new_folder();
    const bool right = lanes_t(options, folder).run();
    rmdir(folder.c_str());
    if (!right)
        std::cout << "to run one graph alone: random_graphs --plugin "
                  << options.plugin << " --graphs 1 --print --seed SEED\n";
    return right;
}

} // namespace
} // namespace random_graphs
} // namespace dnnl_dequant

int main(int argc, char **argv) {
    using namespace dnnl_dequant::random_graphs;
    options_t options;
    options.chunk.first = 1;
    options.chunk.count = 1000;
    CLI::App app(
            "Random graphs over oneDNN's ops, with and without the plugin");
    add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    limit_resources();
    for (size_t n = 0; n + 1 < options.skipped.size(); n += 2)
        options.chunk.skipped.emplace(
                options.skipped[n], static_cast<int>(options.skipped[n + 1]));
    options.chunk.dropped.insert(
            options.dropped.begin(), options.dropped.end());
    try {
        if (options.worker == "record" || options.worker == "again") {
            record(options.chunk);
            return 0;
        }
        if (options.worker.empty()) return run_all(options) ? 0 : 1;
        return compare(options.chunk, options.worker == "disabled") ? 0 : 1;
    } catch (const std::exception &error) {
        std::cout << error.what() << '\n';
        return 2;
    }
}
