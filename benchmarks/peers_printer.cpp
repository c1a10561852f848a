#include "peers_printer.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace dnnl_dequant {
namespace bench {

namespace {

std::string absence_text(const contender_t &contender) {
    return contender.absent ? "absent" : contender.died ? "died" : "-";
}

std::string spread_text(const samples_t &ratio) {
    return number_text(ratio.quantile(0.25), 2) + "-"
           + number_text(ratio.quantile(0.75), 2);
}

// Over the fastest of the others.
std::optional<double> best_gain(const row_t &row) {
    std::optional<double> best = row.gain();
    for (const auto *other : {&row.peer, &row.ggml})
        if (const auto gain = row.gain_on(*other))
            best = best ? std::min(*best, *gain) : *gain;
    return best;
}

std::string remark(const row_t &row) {
    if (!row.ours.ran()) return "did not run: " + row.ours.refusal;
    if (!row.ours.right()) return "WRONG";
    if (row.peer.died) return "ORT died: " + row.peer.refusal;
    // Once is enough for what is absent; the heading says why.
    if (!row.peer.ran() && !row.peer.absent)
        return "ORT refused: " + row.peer.refusal;
    return row.ggml.ran() ? "ggml " + row.ggml.kernel : "";
}

} // namespace

table_t peers_printer_t::make_table() {
    return table_t({{"row", 71}, {"limit", 8, true}, {"ours", 8, true},
            {"/limit", 6, true}, {"quartiles", 9}, {"stock", 8, true},
            {"/limit", 7, true}, {"ORT", 8, true}, {"/limit", 6, true},
            {"ggml", 8, true}, {"/limit", 6, true}, {"gain", 6, true},
            {"", 1}});
}

peers_printer_t::peers_printer_t() {
    std::printf("\n");
    table_.print_titles();
}

void peers_printer_t::print_row(const row_t &row) const {
    std::vector<std::string> cells {row.c.name(),
            row.has_limit() ? time_text(row.limit().median()) : ""};
    for (const auto *contender :
            {&row.ours, &row.stock, &row.peer, &row.ggml}) {
        const bool ran = contender->ran();
        const bool limited = ran && row.has_limit();
        cells.push_back(ran ? (contender->estimated ? "~" : "")
                                        + time_text(contender->time.median())
                            : absence_text(*contender));
        cells.push_back(
                limited ? number_text(
                                  row.ratio_of_contender(*contender).median(),
                                  2)
                        : "");
        if (contender == &row.ours)
            cells.push_back(limited ? spread_text(row.ratio()) : "");
    }
    const auto best = best_gain(row);
    cells.push_back(best ? times_text(*best) : "");
    cells.push_back(remark(row));
    table_.print_row(cells);
}

} // namespace bench
} // namespace dnnl_dequant
