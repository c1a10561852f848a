#ifndef BENCHMARKS_PEERS_PRINTER_HPP
#define BENCHMARKS_PEERS_PRINTER_HPP

#include "measure.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

/// Ops next to the peers' as a table on the terminal, printed as they come.
class peers_printer_t {
public:
    /// Prints the titles.
    peers_printer_t();

    void print_row(const row_t &row) const;

private:
    static table_t make_table();

    table_t table_ = make_table();
};

} // namespace bench
} // namespace dnnl_dequant

#endif
