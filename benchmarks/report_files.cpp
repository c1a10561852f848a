#include <fstream>

#include <nlohmann/json.hpp>

#include "report.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using json_t = nlohmann::ordered_json;

// Seconds (or ratios) with their samples, so that two runs can be compared
// without assuming a distribution.
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

json_t to_json(const machine_t &m) {
    return {{"cpu", m.cpu}, {"cores", m.cores}, {"l2_bytes", m.l2_bytes},
            {"l3_bytes", m.l3_bytes}, {"onednn", m.onednn},
            {"dnnl_dequant", m.plugin}, {"isa", m.isa}, {"date", m.date}};
}

json_t to_json(const row_t &row) {
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
        j["limit"] = {{"best", row.limit_name()},
                {"ordinary", to_json(row.ordinary)},
                {"streaming", to_json(row.streaming)},
                {"prefetched", to_json(row.prefetched)}};
    if (row.has_limit() && row.ours.ran()) {
        j["ratio"] = to_json(row.ratio());
        j["floor_ratio"] = row.floor_ratio().median();
        j["best_ratio"] = row.best_ratio();
    }
    if (c.target()) j["target"] = *c.target();
    if (row.gain()) j["gain"] = *row.gain();
    if (row.peer.ran() || !row.peer.refusal.empty())
        j["peer"] = to_json(row.peer);
    if (row.has_limit() && row.peer.ran())
        j["peer_ratio"] = to_json(row.peer_ratio());
    if (row.gain_on_peer()) j["gain_on_peer"] = *row.gain_on_peer();
    return j;
}

json_t to_json(const latency_t &latency) {
    return {{"name", latency.name}, {"what", latency.what},
            {"plugin", to_json(latency.ours)},
            {"stock", to_json(latency.stock)}, {"target", latency.target},
            {"misses_target", latency.misses_target()}};
}

template <typename T>
json_t to_list(const std::vector<T> &items) {
    json_t list = json_t::array();
    for (const auto &item : items)
        list.push_back(to_json(item));
    return list;
}

} // namespace

bool write_json(const std::string &path, const char *command,
        const machine_t &machine, const std::vector<row_t> &rows,
        const std::vector<latency_t> &latencies) {
    std::ofstream file(path);
    const json_t all {{"format", 2}, {"command", command},
            {"machine", to_json(machine)}, {"rows", to_list(rows)},
            {"latencies", to_list(latencies)}};
    file << all.dump(1, ' ', false, json_t::error_handler_t::replace) << "\n";
    return static_cast<bool>(file.flush());
}

bool write_csv(const std::string &path, const std::vector<row_t> &rows) {
    std::ofstream file(path);
    file << "op,src,dst,scales,zps,layout,shape,threads,bytes,kernel,seconds,"
            "limit_seconds,ratio,stock_seconds,gain,wrong\n";
    for (const auto &row : rows) {
        const auto &c = row.c;
        const bool limited = row.has_limit() && row.ours.ran();
        file << to_string(c.op) << ',' << to_string(c.src) << ','
             << to_string(c.dst) << ',' << c.granularity_name() << ','
             << to_string(c.zps) << ',' << c.layout_name() << ','
             << c.shape_name() << ',' << c.threads << ',' << c.bytes() << ','
             << row.ours.kernel << ',';
        // Empty fields where there is no figure.
        if (row.ours.ran()) file << row.ours.time.median();
        file << ',';
        if (row.has_limit()) file << row.limit().median();
        file << ',';
        if (limited) file << row.ratio().median();
        file << ',';
        if (row.stock.ran()) file << row.stock.time.median();
        file << ',';
        if (row.gain()) file << *row.gain();
        file << ',' << row.ours.check.wrong << '\n';
    }
    return static_cast<bool>(file.flush());
}

} // namespace bench
} // namespace dnnl_dequant
