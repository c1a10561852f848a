// Finds the policy of the library that is best on this machine. This program
// measures each in a process of its own, since the library reads its policy
// once.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "child_process.hpp"
#include "commands.hpp"
#include "data_file.hpp"
#include "machine.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

const std::vector<std::string> policy_names {
#define X(identifier, name, ...) name,
#include "kernels/machine.def"
#undef X
};

struct tune_options_t {
    int threads = 1, rounds = 3;
    std::string filter;
};

// Rows on which policies differ: rows that leave the caches, as they lie and
// transposed, and weights that are read once. There are no more of them
// than show it, since each is measured by every policy in every round.
struct set_t {
    const char *command, *filter;
};
constexpr set_t sets[] = {
        {"kernels", "^(u4|u8)/(f32|bf16)/(tensor|group_1x128)/zps_u[48]/.*/"
                    "(4096x4096|2048x2048)/"
                    "|^QuantizeLinear/f32/u[48]/(tensor|block_128)/.*"
                    "64x256x1024/"},
        {"peers", "^MatMul/f32/u4/group_128/.*/1x4096x4096/"},
};

/// Each row's time over its limit, a sample a round.
using figures_t = std::map<std::string, std::vector<double>>;

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void add_figures(figures_t &figures, const std::string &path) {
    std::ifstream file = readable_file(path);
    const auto document = nlohmann::json::parse(file, nullptr, false);
    if (!document.is_object() || !document.contains("rows"))
        throw std::runtime_error(path + " has no rows");
    for (const auto &row : document["rows"])
        if (row.contains("ratio") && row["ratio"].is_object())
            figures[row["name"]].push_back(row["ratio"]["median"]);
}

void run(const std::string &policy, const set_t &set,
        const tune_options_t &options, figures_t &figures) {
    std::string path = std::filesystem::temp_directory_path()
                       / "dnnl-dequant-tune-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0) throw std::runtime_error("no temporary file can be made");
    close(file);
    std::vector<std::string> command {"env", "DNNL_DEQUANT_POLICY=" + policy,
            std::filesystem::read_symlink("/proc/self/exe"), set.command,
            "--quick", "--threads", std::to_string(options.threads), "--json",
            path, "--filter",
            options.filter.empty() ? set.filter : options.filter};
    if (set.command == std::string("kernels"))
        command.emplace_back("--no-stock");
    constexpr double longest_row = 300;
    child_process_t child(command);
    while (child.receive(longest_row)) {
    }
    const std::string ending = child.end();
    if (ending == "exit status 0") add_figures(figures, path);
    unlink(path.c_str());
    // It has said why.
    if (ending == "exit status 2")
        throw usage_error_t("no row can be measured");
    if (ending != "exit status 0")
        throw std::runtime_error(
                "the run of policy " + policy + " ended with " + ending);
}

// The mean of the rows' medians, as factors.
double mean_of(const figures_t &figures) {
    double sum = 0;
    for (const auto &[name, ratios] : figures)
        sum += std::log(median(ratios));
    return std::exp(sum / static_cast<double>(figures.size()));
}

void print(const std::vector<figures_t> &figures, const std::string &own) {
    std::vector<column_t> columns {{"time / limit", 62}};
    for (const auto &name : policy_names)
        columns.push_back({name, 12, true});
    const table_t table(columns);
    table.print_titles();
    for (const auto &[row, ratios] : figures.front()) {
        std::vector<std::string> cells {row};
        for (const auto &each : figures)
            cells.push_back(number_text(median(each.at(row)), 2));
        table.print_row(cells);
    }
    std::vector<std::string> means {"geometric mean"};
    size_t best = 0;
    for (size_t i = 0; i < figures.size(); ++i) {
        means.push_back(number_text(mean_of(figures[i]), 3));
        if (mean_of(figures[i]) < mean_of(figures[best])) best = i;
    }
    table.print_row(means);
    for (size_t i = 0; i < figures.size(); ++i)
        if (policy_names[i] == own)
            std::printf("\nbest: %s; this machine's own, %s, takes %s "
                        "times as long\n",
                    policy_names[best].c_str(), own.c_str(),
                    number_text(mean_of(figures[i]) / mean_of(figures[best]), 2)
                            .c_str());
}

void tune(const tune_options_t &options) {
    const machine_t machine = this_machine();
    std::printf("%s, L2 %ld KiB, L3 %ld KiB; isa %s, policy %s; %s\n\n",
            machine.cpu.c_str(), machine.l2_bytes / 1024,
            machine.l3_bytes / 1024, machine.isa.c_str(),
            machine.policy.c_str(), machine.date.c_str());
    std::fflush(stdout);
    // In turns, so that the machine's moods are in all of them.
    std::vector<figures_t> figures(policy_names.size());
    const auto rounds = static_cast<size_t>(options.rounds);
    const progress_t progress(rounds * policy_names.size());
    size_t done = 0;
    for (size_t r = 0; r < rounds; ++r)
        for (size_t i = 0; i < policy_names.size(); ++i) {
            progress.show(done++, "policy " + policy_names[i]);
            for (const auto &set : sets)
                if (options.filter.empty() || &set == sets)
                    run(policy_names[i], set, options, figures[i]);
        }
    progress.clear();
    print(figures, machine.policy);
}

} // namespace

void add_tune_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<tune_options_t>();
    auto *command = app.add_subcommand("tune",
            "Which of the policies that the library knows, a row for each CPU "
            "that was measured, is best on this machine");
    command->add_option("--threads", options->threads, "A thread count")
            ->check(CLI::Range(1, 1024))
            ->capture_default_str();
    command->add_option("--rounds", options->rounds,
                   "How often each is measured, in turns: about a minute a "
                   "round")
            ->check(CLI::Range(1, 100))
            ->capture_default_str();
    command->add_option("--filter", options->filter,
            "Instead: the quick rows of the command kernels whose name has a "
            "match of this regular expression");
    command->callback([options, &exit_status] {
        tune(*options);
        exit_status = 0;
    });
}

} // namespace bench
} // namespace dnnl_dequant
