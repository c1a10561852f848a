#include "report.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

json_t row_json(const row_t &row) {
    const auto &c = row.c;
    json_t j {{"name", c.name()}, {"op", to_string(c.op)},
            {"src", to_string(c.src)}, {"dst", to_string(c.dst)},
            {"scales", c.granularity_name()}, {"zps", to_string(c.zps)},
            {"layout", c.layout_name()}, {"dims", c.dims},
            {"threads", c.threads}, {"bytes", c.bytes()},
            {"plugin", to_json(row.ours)}, {"stock", to_json(row.stock)},
            {"limit", nullptr}, {"ratio", nullptr}, {"target", nullptr},
            {"gain", nullptr}, {"misses_target", row.misses_target()}};
    if (row.has_limit())
        j["limit"] = limit_json(row.ordinary, row.streaming, row.prefetched);
    if (row.has_limit() && row.ours.ran()) {
        j["ratio"] = to_json(row.ratio());
        j["floor_ratio"] = row.floor_ratio().median();
        j["best_ratio"] = row.best_ratio();
    }
    if (c.target()) j["target"] = *c.target();
    if (row.gain()) j["gain"] = *row.gain();
    const auto add_peer = [&](const char *name, const contender_t &peer) {
        if (!peer.ran() && peer.refusal.empty()) return;
        json_t &to = j["peers"][name];
        to = to_json(peer);
        if (row.has_limit() && peer.ran())
            to["ratio"] = to_json(row.ratio_of_contender(peer));
        if (row.gain_on(peer)) to["gain"] = *row.gain_on(peer);
    };
    add_peer("ONNX Runtime", row.peer);
    add_peer("ggml", row.ggml);
    return j;
}

json_t latency_json(const latency_t &latency) {
    return {{"name", latency.name}, {"what", latency.what},
            {"plugin", to_json(latency.ours)},
            {"stock", to_json(latency.stock)}, {"target", latency.target},
            {"misses_target", latency.misses_target()}};
}

} // namespace

json_t document_of(const char *command, const machine_t &machine,
        const std::vector<row_t> &rows,
        const std::vector<latency_t> &latencies) {
    json_t document = new_document(command, machine);
    for (const auto &row : rows)
        document["rows"].push_back(row_json(row));
    document["latencies"] = json_t::array();
    for (const auto &latency : latencies)
        document["latencies"].push_back(latency_json(latency));
    return document;
}

} // namespace bench
} // namespace dnnl_dequant
