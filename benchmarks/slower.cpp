#include "slower.hpp"

#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

bool is_slower(const samples_t &ours, const samples_t &stock) {
    if (ours.seconds.empty() || stock.seconds.empty()) return false;
    return ours.quantile(0.25) > stock.quantile(0.75);
}

void slower_list_t::compare(const std::string &name, const samples_t &ours,
        const samples_t &stock) {
    if (is_slower(ours, stock))
        entries_.push_back({name, ours.median(), stock.median()});
}

std::string slower_list_t::text() const {
    std::string lines = "slower than stock in this run: ";
    if (entries_.empty()) return lines + "none\n";
    lines += std::to_string(entries_.size()) + "\n";
    for (const entry_t &entry : entries_)
        lines += "  " + entry.name + ": " + time_text(entry.ours)
                 + " where stock takes " + time_text(entry.stock) + "\n";
    return lines;
}

json_t slower_list_t::json() const {
    json_t list = json_t::array();
    for (const entry_t &entry : entries_)
        list.push_back({{"name", entry.name}, {"plugin", entry.ours},
                {"stock", entry.stock}, {"ratio", entry.ours / entry.stock}});
    return list;
}

} // namespace bench
} // namespace dnnl_dequant
