#include "replay_report.hpp"

#include <cstdio>

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr int ops_width = 34, types_width = 20;

// "DynamicDequantize" for one op, "MatMul+2xAdd" for several.
std::string ops_text(const std::vector<std::string> &ops) {
    std::string text;
    for (size_t i = 0; i < ops.size();) {
        size_t same = i;
        while (same < ops.size() && ops[same] == ops[i])
            same++;
        if (!text.empty()) text += "+";
        if (same - i > 1) text += std::to_string(same - i) + "x";
        text += ops[i];
        i = same;
    }
    return text;
}

// So much of a text that the table stays one.
std::string cut(const std::string &text, int width, const std::string &rest) {
    const size_t most = static_cast<size_t>(width);
    if (text.size() <= most) return text;
    return text.substr(0, most - rest.size()) + rest;
}

std::string joined(const std::vector<std::string> &words) {
    std::string text;
    for (const auto &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string contender_text(const contender_t &contender) {
    if (contender.ran()) return time_text(contender.time.median());
    return contender.refusal == not_asked ? "-" : "refused";
}

std::string kernel_text(const replay_row_t &row) {
    std::string text
            = row.plugin.kernel.empty() ? "(oneDNN's own)" : row.plugin.kernel;
    if (!row.plugin.ran()) text = "refused: " + row.plugin.refusal;
    if (!row.stock.ran() && row.stock.refusal != row.plugin.refusal
            && row.stock.refusal != not_asked)
        text += "; stock: " + row.stock.refusal;
    return text;
}

} // namespace

table_t replay_printer_t::make_table() {
    return table_t({{"partition", ops_width}, {"types", types_width},
            {"owner", 6}, {"stock", 8, true}, {"plugin", 8, true},
            {"limit", 8, true}, {"ratio", 5, true}, {"GB/s", 5, true},
            {"gain", 6, true}, {"apart", 8, true}, {"fused", 5, true},
            {"check", 13}, {"kernel", 10}});
}

void replay_printer_t::print_legend() {
    std::printf(
            "stock  oneDNN without the plugin, on the same inputs\n"
            "limit  a plain loop that moves the bytes of the partition's "
            "inputs and outputs\n"
            "ratio  plugin / limit; gain: stock / plugin\n"
            "apart  the plugin, each op a partition of its own; fused: apart / "
            "plugin\n"
            "check  equal: bit for bit with stock, and with the formula where "
            "it is one dequantize;\n"
            "       formula: with that alone; within E: sums are inside, E is "
            "the greatest\n"
            "       difference over the greatest value; (apart): with the ops "
            "apart, where stock\n"
            "       does not run\n");
}

void replay_printer_t::print_graph(const graph_file_t &file) const {
    std::printf("\n%s: %zu ops, by oneDNN %s, fpmath %s%s\n", file.path.c_str(),
            file.ops.size(), file.version.c_str(), file.fpmath_name.c_str(),
            file.apply_to_int ? " for integers too" : "");
    table_.print_titles();
}

void replay_printer_t::print_row(const replay_row_t &row) const {
    const bool limited = row.has_limit() && row.plugin.ran();
    const auto gain = row.gain(), fusing = row.gain_of_fusing();
    const std::string count = ".. (" + std::to_string(row.ops.size()) + " ops)";
    table_.print_row({cut(ops_text(row.ops), ops_width, count),
            cut(joined(row.types), types_width, ".."), row.owner,
            contender_text(row.stock), contender_text(row.plugin),
            row.has_limit() ? time_text(row.limit().median()) : "",
            limited ? number_text(row.ratio().median(), 2) : "",
            limited ? number_text(row.gigabytes_per_second(), 1) : "",
            gain ? times_text(*gain) : "",
            fusing ? time_text(row.apart.time.median()) : "",
            fusing ? times_text(*fusing) : "", row.check.text(),
            kernel_text(row)});
}

void replay_printer_t::print_sum(const std::vector<replay_row_t> &rows) const {
    double stock = 0, plugin = 0, with_stock = 0;
    size_t refused = 0;
    for (const auto &row : rows) {
        plugin += row.plugin.time.median();
        stock += row.stock.time.median();
        if (row.stock.ran()) with_stock += row.plugin.time.median();
        else refused++;
    }
    if (rows.size() < 2) return;
    std::string text = "in all: stock " + time_text(stock) + ", plugin "
                       + time_text(plugin);
    if (with_stock > 0 && stock > 0)
        text += ", gain " + times_text(stock / with_stock);
    if (refused > 0)
        text += " without the " + std::to_string(refused)
                + " that stock does not run";
    std::printf("%s\n", text.c_str());
}

json_t replay_row_json(const graph_file_t &file, const replay_row_t &row) {
    const bool limited = row.has_limit() && row.plugin.ran();
    json_t j {{"name", row.name}, {"file", file.path}, {"ops", row.ops},
            {"types", joined(row.types)}, {"owner", row.owner},
            {"threads", row.threads}, {"bytes", row.bytes},
            {"plugin", to_json(row.plugin)}, {"stock", to_json(row.stock)},
            {"check", row.check.text()},
            {"wrong", row.check.verdict == verdict_t::wrong},
            {"bound", row.check.bound}, {"limit", nullptr}, {"ratio", nullptr},
            {"gain", nullptr}, {"apart", nullptr}, {"fusing", nullptr}};
    if (row.has_limit())
        j["limit"] = limit_json(row.ordinary, row.streaming, row.prefetched);
    if (limited) j["ratio"] = to_json(row.ratio());
    if (row.gain()) j["gain"] = *row.gain();
    if (row.apart.ran()) j["apart"] = to_json(row.apart);
    if (row.gain_of_fusing()) j["fusing"] = *row.gain_of_fusing();
    return j;
}

} // namespace bench
} // namespace dnnl_dequant
