#ifndef BENCHMARKS_REPLAY_REPLAY_REPORT_HPP
#define BENCHMARKS_REPLAY_REPLAY_REPORT_HPP

#include <vector>

#include "document.hpp"
#include "graph_file.hpp"
#include "replay_row.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

/// Prints graph by graph, a line a row.
class replay_printer_t {
public:
    static void print_legend();
    void print_graph(const graph_file_t &file) const;
    void print_row(const replay_row_t &row) const;
    /// Prints the sum of all rows of one graph.
    void print_sum(const std::vector<replay_row_t> &rows) const;

private:
    static table_t make_table();
    table_t table_ = make_table();
};

json_t replay_row_json(const graph_file_t &file, const replay_row_t &row);

} // namespace bench
} // namespace dnnl_dequant

#endif
