#include "report.hpp"

#include <algorithm>
#include <cstdio>

namespace dnnl_dequant {
namespace bench {

namespace {

std::string section_of(const bench_case_t &c) {
    const bool dynamic = c.op == op_t::dynamic_dequantize;
    return (dynamic ? "" : to_string(c.op) + std::string(", ")) + c.shape_name()
           + ", " + c.layout_name() + ", "
           + (c.threads == 1 ? "1 thread"
                             : std::to_string(c.threads) + " threads");
}

std::string spread_text(const samples_t &ratio) {
    return number_text(ratio.quantile(0.25), 2) + "-"
           + number_text(ratio.quantile(0.75), 2);
}

std::string stock_text(const contender_t &stock) {
    if (stock.refusal == "not asked") return "";
    if (!stock.ran()) return "refused";
    // Stock's results are not always those of the formula.
    return (stock.estimated ? "~" : "") + time_text(stock.time.median())
           + (stock.right() ? "" : " !");
}

std::string kernel_text(const contender_t &ours) {
    if (!ours.refusal.empty()) return "refused: " + ours.refusal;
    return ours.kernel.empty() ? "(oneDNN's own)" : ours.kernel;
}

// How far above its target a row is; most of all where it did not run.
double excess(const row_t &row) {
    if (!row.ours.ran()) return 1e9;
    const auto target = row.c.target();
    const double over_limit
            = target && row.has_limit() ? row.ratio().median() / *target : 0;
    return std::max(over_limit, 1 / row.gain().value_or(1e9));
}

std::string missing_text(const row_t &row) {
    if (!row.ours.ran()) return "did not run";
    if (row.loses_to_stock())
        return "slower than stock, " + time_text(row.stock.time.median());
    return number_text(row.ratio().median(), 2) + ", at best "
           + number_text(row.best_ratio(), 2) + "; target "
           + number_text(row.c.target().value_or(0), 2);
}

} // namespace

table_t kernels_printer_t::make_table() {
    return table_t({{"src", 7}, {"dst", 4}, {"scales", 11}, {"zps", 4},
            {"time", 8, true}, {"limit", 8, true}, {"ratio", 5, true},
            {"quartiles", 9}, {"", 1}, {"best", 4, true}, {"floor", 5, true},
            {"GB/s", 5, true}, {"stock", 9, true}, {"gain", 6, true},
            {"kernel", 10}});
}

void kernels_printer_t::print_machine(const machine_t &m) {
    std::printf("%s, %d cores, L2 %ld KiB, L3 %ld KiB\n", m.cpu.c_str(),
            m.cores, m.l2_bytes / 1024, m.l3_bytes / 1024);
    std::printf("oneDNN %s, isa %s; dnnl_dequant %s, policy %s; %s\n\n",
            m.onednn.c_str(), m.isa.c_str(), m.plugin.c_str(), m.policy.c_str(),
            m.date.c_str());
}

void kernels_printer_t::print_legend() const {
    std::printf(
            "time   median of our executes\n"
            "limit  a plain loop that moves the same bytes, side by side\n"
            "ratio  time / limit, and its quartiles; * above the target, or "
            "stock is faster\n"
            "best   our fastest / the limit's fastest\n"
            "floor  time / the same loop with prefetching, where that is "
            "faster\n"
            "stock  oneDNN without the plugin; ~ estimated from a part of the "
            "rows;\n"
            "       ! not what the formula says, bit for bit\n");
}

void kernels_printer_t::print_row(const row_t &row) {
    const std::string section = section_of(row.c);
    if (section != section_) {
        section_ = section;
        std::printf("\n%s\n", section.c_str());
        table_.print_titles();
    }
    const bool limited = row.has_limit() && row.ours.ran();
    const samples_t ratio = limited ? row.ratio() : samples_t();
    const auto gain = row.gain();
    std::string kernel = kernel_text(row.ours);
    if (!row.ours.right())
        kernel += "  WRONG: " + std::to_string(row.ours.check.wrong) + " of "
                  + std::to_string(row.ours.check.checked);
    table_.print_row({to_string(row.c.src), to_string(row.c.dst),
            row.c.granularity_name(), to_string(row.c.zps),
            time_text(row.ours.time.median()),
            row.has_limit() ? time_text(row.limit().median()) : "",
            limited ? number_text(ratio.median(), 2) : "",
            limited ? spread_text(ratio) : "", row.misses_target() ? "*" : "",
            limited ? number_text(row.best_ratio(), 2) : "",
            limited ? number_text(row.floor_ratio().median(), 2) : "",
            limited ? number_text(row.gigabytes_per_second(), 1) : "",
            stock_text(row.stock), gain ? times_text(*gain) : "", kernel});
}

void kernels_printer_t::print_latencies(
        const std::vector<latency_t> &latencies) const {
    if (latencies.empty()) return;
    const table_t table({{"latency, 1 thread", 45}, {"plugin", 8, true},
            {"stock", 8, true}, {"target", 9, true}, {"", 1}});
    std::printf("\n");
    table.print_titles();
    for (const auto &l : latencies)
        table.print_row({l.what, time_text(l.ours.median()),
                time_text(l.stock.median()), l.target_text(),
                l.misses_target() ? "*" : ""});
}

void kernels_printer_t::print_summary(const std::vector<row_t> &rows) const {
    size_t right = 0;
    std::vector<const row_t *> missing;
    for (const auto &row : rows) {
        right += row.ours.ran() && row.ours.right();
        if (row.misses_target()) missing.push_back(&row);
    }
    std::printf("\n%zu rows: %zu equal to the formula bit for bit, %zu above "
                "their target%s\n",
            rows.size(), right, missing.size(),
            missing.empty() ? "" : ", the furthest first:");
    std::sort(
            missing.begin(), missing.end(), [](const row_t *a, const row_t *b) {
        return excess(*a) > excess(*b);
    });
    for (const row_t *row : missing)
        std::printf("  * %-54s %s\n", row->c.name().c_str(),
                missing_text(*row).c_str());
}

std::string time_cell(const contender_t &contender) {
    if (contender.ran())
        return (contender.estimated ? "~" : "")
               + time_text(contender.time.median());
    return contender.absent ? "absent" : contender.died ? "died" : "-";
}

} // namespace bench
} // namespace dnnl_dequant
