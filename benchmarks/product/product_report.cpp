#include "product_report.hpp"

#include <algorithm>
#include <cstdio>

#include "report.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

std::string share_text(const product_row_t &row, const contender_t &contender) {
    if (!contender.ran() || row.peak_operations == 0) return "";
    return number_text(100 * row.share_of(contender).median(), 0) + "%";
}

std::string remark(const product_row_t &row) {
    if (!row.ours.ran()) return "did not run: " + row.ours.refusal;
    if (!row.ours.right()) return "WRONG";
    if (row.onnx.died) return "ORT died: " + row.onnx.refusal;
    std::string text = row.ours.kernel;
    if (!row.onnx.ran() && !row.onnx.absent)
        text += "; ORT refused: " + row.onnx.refusal;
    if (!row.stock.ran()) text += "; stock: " + row.stock.refusal;
    return text;
}

std::string over_dense(const product_row_t &row) {
    const auto gain = row.gain_on(row.dense);
    return gain ? number_text(1 / *gain, 2) : "";
}

json_t peak_json(const product_row_t &row) {
    if (row.peak_operations == 0) return nullptr;
    json_t j {{"of", to_string(row.c.peak())},
            {"per_second", row.peak_per_second()}, {"share", nullptr},
            {"target", nullptr}};
    if (row.ours.ran()) j["share"] = to_json(row.share_of(row.ours));
    if (row.c.peak_target()) j["target"] = *row.c.peak_target();
    return j;
}

json_t peer_json(const product_row_t &row, const contender_t &peer) {
    json_t j = to_json(peer);
    if (!peer.ran()) return j;
    j["ratio"] = to_json(row.ratio_of(peer));
    if (row.peak_operations > 0) j["share"] = to_json(row.share_of(peer));
    if (row.gain_on(peer)) j["gain"] = *row.gain_on(peer);
    return j;
}

} // namespace

table_t products_printer_t::make_table() {
    return table_t({{"product", 57}, {"limit", 8, true}, {"ours", 8, true},
            {"/limit", 6, true}, {"quartiles", 11}, {"of peak", 7, true},
            {"", 1}, {"repacked", 8, true}, {"ORT", 8, true},
            {"/limit", 6, true}, {"of peak", 7, true}, {"XNNPACK", 8, true},
            {"dense", 8, true}, {"/dense", 6, true}, {"stock", 8, true},
            {"gain", 6, true}, {"", 1}});
}

void products_printer_t::print_legend() const {
    std::printf(
            "\nProducts with weights of 2 to 8 bits, which no cache holds: "
            "copies of them take turns.\n"
            "limit    reading the packed weights, their scales and zero points "
            "once\n"
            "of peak  multiply-adds a second over those of a loop in "
            "registers: of f32 by FMA,\n"
            "         of u8 by vpdpbusd; * above the target, or another is "
            "faster\n"
            "repacked ours of weights that are constant, kept in oneDNN's "
            "constant tensor cache\n"
            "ORT      MatMulNBits, weights by column whatever ours; against u8 "
            "its accuracy level 4,\n"
            "         which makes 8 bits of f32 rows in its time\n"
            "XNNPACK  fully connected qd8-f32-qb4w against u8: bf16 scales, "
            "no zero points\n"
            "dense    oneDNN's matmul primitive of floats, or of u8 by s8, in "
            "the order it wants;\n"
            "         /dense: ours over it\n"
            "stock    estimated from a part of the columns; gain: the fastest "
            "other's time / ours\n\n");
    table_.print_titles();
}

void products_printer_t::print_row(const product_row_t &row) const {
    const samples_t ratio = row.ratio_of(row.ours);
    std::optional<double> best = row.gain_on(row.stock);
    for (const auto *other : {&row.onnx, &row.xnnpack})
        if (const auto gain = row.gain_on(*other))
            best = best ? std::min(*best, *gain) : *gain;
    const auto over_limit = [&](const contender_t &contender) {
        return contender.ran()
                       ? number_text(row.ratio_of(contender).median(), 2)
                       : "";
    };
    table_.print_row({row.c.name(), time_text(row.limit.median()),
            time_cell(row.ours), over_limit(row.ours),
            row.ours.ran() ? number_text(ratio.quantile(0.25), 2) + "-"
                                     + number_text(ratio.quantile(0.75), 2)
                           : "",
            share_text(row, row.ours), row.misses_target() ? "*" : "",
            time_cell(row.repacked), time_cell(row.onnx), over_limit(row.onnx),
            share_text(row, row.onnx), time_cell(row.xnnpack),
            time_cell(row.dense), over_dense(row), time_cell(row.stock),
            best ? times_text(*best) : "", remark(row)});
}

json_t product_row_json(const product_row_t &row) {
    const auto &c = row.c;
    json_t j {{"name", c.name()}, {"op", "MatMul"}, {"src", to_string(c.src)},
            {"weights", to_string(c.weights)}, {"dst", to_string(c.floats())},
            {"scales", c.granularity_name()}, {"zps", c.zps_name()},
            {"layout", c.layout_name()}, {"dims", c.dims()},
            {"threads", c.threads}, {"copies", row.copies},
            {"bytes", c.packed_bytes()}, {"operations", c.operations()},
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
    if (row.repacked.ran()) j["repacked"] = peer_json(row, row.repacked);
    add_peer("ONNX Runtime", row.onnx);
    add_peer("XNNPACK", row.xnnpack);
    add_peer("oneDNN dense", row.dense);
    if (c.dense_target()) j["dense_target"] = *c.dense_target();
    return j;
}

} // namespace bench
} // namespace dnnl_dequant
