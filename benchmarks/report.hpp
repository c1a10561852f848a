#ifndef BENCHMARKS_REPORT_HPP
#define BENCHMARKS_REPORT_HPP

#include <string>
#include <vector>

#include "document.hpp"
#include "latency.hpp"
#include "machine.hpp"
#include "measure.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

/// Prints rows as they are measured, under a title for each section (shape,
/// layout, threads), and a summary at the end.
class kernels_printer_t {
public:
    static void print_machine(const machine_t &machine);
    void print_legend() const;
    void print_row(const row_t &row);
    void print_latencies(const std::vector<latency_t> &latencies) const;
    void print_summary(const std::vector<row_t> &rows) const;

private:
    table_t table_ = make_table();
    std::string section_;

    static table_t make_table();
};

/// Its time, estimated or not; or why there is none, in a word.
std::string time_cell(const contender_t &contender);

/// The whole run, samples included.
json_t document_of(const char *command, const machine_t &machine,
        const std::vector<row_t> &rows,
        const std::vector<latency_t> &latencies);

} // namespace bench
} // namespace dnnl_dequant

#endif
