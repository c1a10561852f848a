#include "attention_report.hpp"

#include <cstdio>

#include "peak.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

std::string share_text(const attention_row_t &row) {
    if (!row.ours.ran() || row.peak_operations == 0) return "";
    return number_text(100 * row.share_of(row.ours).median(), 0) + "%";
}

std::string remark(const attention_row_t &row) {
    if (!row.ours.ran()) return "did not run: " + row.ours.refusal;
    if (!row.ours.right()) return "WRONG";
    if (row.onnx.died) return "ORT died: " + row.onnx.refusal;
    std::string text = row.ours.kernel;
    if (!row.onnx.ran() && !row.onnx.absent && !row.onnx.refusal.empty())
        text += "; ORT refused: " + row.onnx.refusal;
    if (!row.stock.ran() && !row.stock.refusal.empty())
        text += "; stock: " + row.stock.refusal;
    return text;
}

std::string gain_text(const std::optional<double> &gain) {
    return gain ? times_text(*gain) : "";
}

json_t peer_json(const attention_row_t &row, const contender_t &peer) {
    json_t j = to_json(peer);
    if (!peer.ran()) return j;
    j["ratio"] = to_json(row.ratio_of(peer));
    if (row.gain_on(peer)) j["gain"] = *row.gain_on(peer);
    return j;
}

json_t peak_json(const attention_row_t &row) {
    if (row.peak_operations == 0) return nullptr;
    json_t j {{"of", to_string(peak_kind_t::fma)},
            {"per_second", row.peak_per_second()}, {"share", nullptr},
            {"target", nullptr}};
    if (row.ours.ran()) j["share"] = to_json(row.share_of(row.ours));
    return j;
}

json_t json_of(const attention_row_t &row) {
    const auto &c = row.c;
    json_t j {{"name", c.name()}, {"op", "Attention"},
            {"src", to_string(c.type)}, {"weights", to_string(c.cache)},
            {"dst", to_string(c.type)}, {"scales", "token"}, {"zps", "s8"},
            {"layout", c.causal ? "causal" : "dense"},
            {"dims", dims_t {c.heads, c.group, c.queries, c.tokens, c.head}},
            {"threads", c.threads}, {"copies", row.copies},
            {"bytes", c.cache_bytes()}, {"operations", c.operations()},
            {"plugin", to_json(row.ours)}, {"stock", to_json(row.stock)},
            {"limit", {{"best", "read"}, {"read", to_json(row.limit)}}},
            {"ratio", nullptr}, {"target", nullptr}, {"gain", nullptr},
            {"peak", peak_json(row)}, {"misses_target", row.misses_target()}};
    if (row.ours.ran()) j["ratio"] = to_json(row.ratio_of(row.ours));
    if (c.target()) j["target"] = *c.target();
    if (row.gain_on(row.stock)) j["gain"] = *row.gain_on(row.stock);
    const auto add_peer = [&](const char *name, const contender_t &peer) {
        if (peer.ran() || !peer.refusal.empty())
            j["peers"][name] = peer_json(row, peer);
    };
    add_peer("ONNX Runtime", row.onnx);
    add_peer("oneDNN dense", row.dense);
    return j;
}

} // namespace

table_t attention_printer_t::make_table() {
    return table_t({{"attention", 50}, {"limit", 8, true}, {"ours", 8, true},
            {"/limit", 6, true}, {"quartiles", 11}, {"of FMA", 6, true},
            {"", 1}, {"ORT", 8, true}, {"gain", 6, true}, {"dense", 8, true},
            {"gain", 6, true}, {"stock", 8, true}, {"", 1}});
}

void attention_printer_t::print_legend() const {
    std::printf(
            "\nAttention over a quantized cache, which is in no cache of the "
            "CPU: copies of it take turns.\n"
            "limit   reading the cache's numbers, scales and zero points once\n"
            "of FMA  multiply-adds a second over those of a loop in registers "
            "in f32, masked ones too;\n"
            "        * above the target, or ORT is faster\n"
            "ORT     GroupQueryAttention, always causal, a scale for each "
            "number of a head, no zero\n"
            "        points; it adds the queries' tokens to the cache besides\n"
            "dense   oneDNN's two products alone, keys and values as floats, "
            "no softmax\n"
            "stock   estimated from a part of the tokens\n\n");
    table_.print_titles();
}

void attention_printer_t::print_row(const attention_row_t &row) const {
    std::string ratio, quartiles;
    if (row.ours.ran()) {
        const samples_t ratios = row.ratio_of(row.ours);
        ratio = number_text(ratios.median(), 2);
        quartiles = number_text(ratios.quantile(0.25), 2) + "-"
                    + number_text(ratios.quantile(0.75), 2);
    }
    table_.print_row({row.c.name(), time_text(row.limit.median()),
            time_cell(row.ours), ratio, quartiles, share_text(row),
            row.misses_target() ? "*" : "", time_cell(row.onnx),
            gain_text(row.gain_on(row.onnx)), time_cell(row.dense),
            gain_text(row.gain_on(row.dense)), time_cell(row.stock),
            remark(row)});
}

std::vector<attention_row_t> measure_caches(
        const std::vector<attention_case_t> &cases,
        const measure_options_t &options) {
    if (cases.empty() || is_interrupted()) return {};
    const attention_printer_t printer;
    printer.print_legend();
    return measure_attentions(cases, options,
            [&](const attention_row_t &row) { printer.print_row(row); });
}

void add_rows(json_t &document, const std::vector<attention_row_t> &rows) {
    for (const auto &row : rows)
        document["rows"].push_back(json_of(row));
}

} // namespace bench
} // namespace dnnl_dequant
