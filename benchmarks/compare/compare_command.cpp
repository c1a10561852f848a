#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "data_file.hpp"
#include "document.hpp"
#include "mann_whitney.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct compare_options_t {
    std::vector<std::string> files;
    std::string json;
    double threshold = 0.05, alpha = 0.01;
    bool seconds = false, all = false;
};

// A row's samples on one side: over the limit where it has one, because the
// machine's mood is in both, else seconds.
struct sampled_t {
    samples_t ratio, seconds;

    const samples_t &of(bool ratios) const { return ratios ? ratio : seconds; }
};

using run_t = std::map<std::string, sampled_t>;

void append(samples_t &to, const json_t &from, const char *key) {
    if (!from.is_object() || !from.contains(key) || !from[key].is_object())
        return;
    const json_t &samples = from[key];
    if (samples.contains("samples") && samples["samples"].is_array())
        for (const auto &value : samples["samples"])
            if (value.is_number()) to.seconds.push_back(value);
}

json_t parse(const std::string &path) {
    std::ifstream file = readable_file(path);
    if (!file.is_open()) throw usage_error_t(path + " cannot be read");
    const json_t document = json_t::parse(file, nullptr, false);
    if (document.is_discarded()) throw usage_error_t(path + " is no JSON");
    if (!document.is_object() || !document.contains("rows")
            || !document["rows"].is_array() || !document.contains("command"))
        throw usage_error_t(path + " was not written by this tool's --json");
    return document;
}

// Several runs of one side make one.
void add_run(run_t &run, const json_t &document) {
    for (const auto &row : document["rows"]) {
        if (!row.is_object() || !row.contains("name")) continue;
        sampled_t &sampled = run[row["name"].get<std::string>()];
        append(sampled.ratio, row, "ratio");
        if (row.contains("plugin"))
            append(sampled.seconds, row["plugin"], "seconds");
    }
    if (!document.contains("latencies")) return;
    for (const auto &latency : document["latencies"])
        append(run[latency["name"].get<std::string>()].seconds, latency,
                "plugin");
}

struct change_t {
    std::string name;
    bool ratios = false;
    double before = 0, after = 0, p = 1;
    // Of the pairs of files one by one: a run has a mood of its own, which the
    // test of all samples together takes for a change.
    double least = 0, most = 0;

    double factor() const { return after / before; }
};

class comparison_t {
public:
    explicit comparison_t(const compare_options_t &options)
        : options_(options) {}

    int run() {
        read();
        for (const auto &item : old_) {
            const auto found = new_.find(item.first);
            if (found == new_.end()) missing_++;
            else compare(item.first, item.second, found->second);
        }
        if (changes_.empty())
            throw usage_error_t("the files have no row in common");
        adjust();
        print();
        if (!options_.json.empty()) write();
        return count(slower) > 0 ? 1 : 0;
    }

private:
    enum which_t { slower, faster };

    void read() {
        if (options_.files.size() < 2 || options_.files.size() % 2 != 0)
            throw usage_error_t("compare takes pairs of files: OLD NEW");
        std::string command, cpu;
        for (size_t i = 0; i < options_.files.size(); i++) {
            const json_t document = parse(options_.files[i]);
            const std::string its = document["command"];
            if (!command.empty() && its != command)
                throw usage_error_t(
                        "cannot compare " + command + " with " + its);
            command = its;
            const json_t machine = document.value("machine", json_t::object());
            const std::string processor = machine.value("cpu", "?");
            if (!cpu.empty() && cpu != processor)
                std::printf("not on one machine: %s and %s\n", cpu.c_str(),
                        processor.c_str());
            cpu = processor;
            add_run(i % 2 == 0 ? old_ : new_, document);
            if (i % 2 == 0) pairs_.emplace_back();
            add_run(i % 2 == 0 ? pairs_.back().first : pairs_.back().second,
                    document);
        }
    }

    void compare(const std::string &name, const sampled_t &before,
            const sampled_t &after) {
        change_t change;
        change.name = name;
        change.ratios = !options_.seconds && !before.ratio.seconds.empty()
                        && !after.ratio.seconds.empty();
        const auto &a = before.of(change.ratios), &b = after.of(change.ratios);
        change.before = a.median();
        change.after = b.median();
        if (change.before <= 0 || change.after <= 0) return;
        change.p = mann_whitney_p(a.seconds, b.seconds);
        change.least = change.most = change.factor();
        for (const auto &pair : pairs_)
            look_at(pair, change);
        changes_.push_back(change);
    }

    static void look_at(const std::pair<run_t, run_t> &pair, change_t &change) {
        const auto a = pair.first.find(change.name);
        const auto b = pair.second.find(change.name);
        if (a == pair.first.end() || b == pair.second.end()) return;
        const double before = a->second.of(change.ratios).median();
        const double after = b->second.of(change.ratios).median();
        if (before <= 0 || after <= 0) return;
        change.least = std::min(change.least, after / before);
        change.most = std::max(change.most, after / before);
    }

    void adjust() {
        std::vector<double> p;
        for (const auto &change : changes_)
            p.push_back(change.p);
        p = holm_adjusted(p);
        for (size_t i = 0; i < p.size(); i++)
            changes_[i].p = p[i];
        std::stable_sort(changes_.begin(), changes_.end(),
                [](const change_t &a, const change_t &b) {
            return a.factor() > b.factor();
        });
    }

    bool is_change(const change_t &change, which_t which) const {
        const double step = 1 + options_.threshold;
        return change.p < options_.alpha
               && (which == slower ? change.least > step
                                   : change.most < 1 / step);
    }

    size_t count(which_t which) const {
        return static_cast<size_t>(std::count_if(changes_.begin(),
                changes_.end(),
                [&](const change_t &c) { return is_change(c, which); }));
    }

    void print() const {
        const table_t table({{"row", 62}, {"old", 8, true}, {"new", 8, true},
                {"change", 7, true}, {"p", 8, true}, {"", 6}});
        table.print_titles();
        for (const auto &c : changes_) {
            const bool worse = is_change(c, slower);
            const bool better = is_change(c, faster);
            if (!worse && !better && !options_.all) continue;
            const auto text = [&](double value) {
                return c.ratios ? number_text(value, 2) : time_text(value);
            };
            const double percent = (c.factor() - 1) * 100;
            table.print_row({c.name, text(c.before), text(c.after),
                    (percent > 0 ? "+" : "") + number_text(percent, 1) + "%",
                    short_text(c.p),
                    worse    ? "SLOWER"
                    : better ? "faster"
                             : ""});
        }
        std::printf("\n%zu rows: %zu slower, %zu faster, by over %g%%%s and "
                    "not by chance (Mann-Whitney, p < %g after Holm)\n",
                changes_.size(), count(slower), count(faster),
                options_.threshold * 100,
                pairs_.size() > 1 ? " in each pair of runs" : "",
                options_.alpha);
        if (missing_ > 0)
            std::printf("%zu rows of the old run are not in the new one\n",
                    missing_);
    }

    void write() const {
        json_t document {{"format", 2}, {"command", "compare"},
                {"rows", json_t::array()}};
        for (const auto &c : changes_)
            document["rows"].push_back({{"name", c.name},
                    {"of", c.ratios ? "ratio" : "seconds"}, {"old", c.before},
                    {"new", c.after}, {"change", c.factor()}, {"p", c.p},
                    {"slower", is_change(c, slower)},
                    {"faster", is_change(c, faster)}});
        output_options_t output;
        output.json = options_.json;
        write_files(output, document);
    }

    const compare_options_t &options_;
    run_t old_, new_;
    std::vector<std::pair<run_t, run_t>> pairs_;
    std::vector<change_t> changes_;
    size_t missing_ = 0;
};

} // namespace

void add_compare_command(CLI::App &app, int &exit_status) {
    auto options = std::make_shared<compare_options_t>();
    auto *command = app.add_subcommand("compare",
            "What got slower or faster from one run's --json to another's; "
            "exit status 1 where something got slower");
    command->add_option("files", options->files,
                   "OLD.json NEW.json, and more such pairs")
            ->required();
    command->add_option("--threshold", options->threshold,
                   "Changes up to this part are none (0.05)")
            ->check(CLI::Range(0., 10.));
    command->add_option("--alpha", options->alpha,
                   "The chance of a false alarm (0.01)")
            ->check(CLI::Range(0., 1.));
    command->add_flag("--seconds", options->seconds,
            "Compare times, also where both runs have ratios to the limit");
    command->add_flag("--all", options->all, "Print unchanged rows too");
    command->add_option("--json", options->json, "Write all changes there");
    command->callback([options, &exit_status] {
        output_options_t output;
        output.json = options->json;
        check_writable(output);
        exit_status = comparison_t(*options).run();
    });
}

} // namespace bench
} // namespace dnnl_dequant
