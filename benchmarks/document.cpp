#include "document.hpp"

#include <fstream>
#include <stdexcept>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "page/page.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

void check_writable(const char *option, const std::string &path) {
    if (!path.empty() && !std::ofstream(path, std::ios::app))
        throw usage_error_t(
                std::string(option) + " " + path + " cannot be written");
}

json_t to_json(const machine_t &m) {
    return {{"cpu", m.cpu}, {"cores", m.cores}, {"l2_bytes", m.l2_bytes},
            {"l3_bytes", m.l3_bytes}, {"onednn", m.onednn},
            {"dnnl_dequant", m.plugin}, {"isa", m.isa}, {"policy", m.policy},
            {"date", m.date}};
}

// The figures of a row by the path to them: "plugin.seconds".
void flatten(const json_t &value, const std::string &path, json_t &to) {
    if (value.is_object() && value.contains("median")) {
        to[path] = value["median"];
    } else if (value.is_object()) {
        for (const auto &item : value.items())
            flatten(item.value(),
                    path.empty() ? item.key() : path + "." + item.key(), to);
    } else if (value.is_array()) {
        std::string joined;
        for (const auto &item : value)
            joined += (joined.empty() ? "" : " ")
                      + (item.is_string() ? item.get<std::string>()
                                          : item.dump());
        to[path] = joined;
    } else if (!value.is_null()) to[path] = value;
}

std::string cell(const json_t &value) {
    if (!value.is_string()) return value.is_null() ? "" : value.dump();
    std::string text = value;
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '"');
    return '"' + text + '"';
}

std::string csv_of(const json_t &document) {
    std::vector<json_t> lines;
    json_t columns = json_t::object();
    for (const auto &row : document["rows"]) {
        lines.push_back(json_t::object());
        flatten(row, "", lines.back());
        for (const auto &item : lines.back().items())
            columns[item.key()] = true;
    }
    std::string text;
    for (const auto &column : columns.items())
        text += (text.empty() ? "" : ",") + column.key();
    text += "\n";
    for (const auto &line : lines) {
        std::string separator;
        for (const auto &column : columns.items()) {
            text += separator;
            separator = ",";
            if (line.contains(column.key())) text += cell(line[column.key()]);
        }
        text += "\n";
    }
    return text;
}

void write(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

} // namespace

void add_output_options(CLI::App &command, output_options_t &options) {
    command.add_option("--json", options.json, "Write all figures there");
    command.add_option(
            "--html", options.html, "Write a page of charts and tables there");
    command.add_option("--csv", options.csv, "Write a line a row there");
}

void check_writable(const output_options_t &options) {
    check_writable("--json", options.json);
    check_writable("--csv", options.csv);
    check_writable("--html", options.html);
}

json_t new_document(const char *command, const machine_t &machine) {
    return {{"format", 2}, {"command", command}, {"machine", to_json(machine)},
            {"rows", json_t::array()}};
}

json_t to_json(const samples_t &samples) {
    if (samples.seconds.empty()) return nullptr;
    return {{"median", samples.median()}, {"q1", samples.quantile(0.25)},
            {"q3", samples.quantile(0.75)}, {"min", samples.min()},
            {"samples", samples.seconds}};
}

json_t to_json(const contender_t &contender) {
    if (!contender.ran())
        return {{contender.died ? "died" : "refused", contender.refusal}};
    return {{"kernel", contender.kernel}, {"seconds", to_json(contender.time)},
            {"estimated", contender.estimated},
            {"checked", contender.check.checked},
            {"wrong", contender.check.wrong},
            {"sign_of_zero", contender.check.sign_of_zero}};
}

json_t limit_json(const samples_t &ordinary, const samples_t &streaming,
        const samples_t &prefetched) {
    const bool streams = streaming.median() < ordinary.median();
    return {{"best", streams ? "streaming" : "ordinary"},
            {"ordinary", to_json(ordinary)}, {"streaming", to_json(streaming)},
            {"prefetched", to_json(prefetched)}};
}

void write_files(const output_options_t &options, const json_t &document) {
    if (!options.json.empty())
        write(options.json,
                document.dump(1, ' ', false, json_t::error_handler_t::replace)
                        + "\n");
    if (!options.csv.empty()) write(options.csv, csv_of(document));
    if (!options.html.empty()) write(options.html, page_of(document));
}

} // namespace bench
} // namespace dnnl_dequant
