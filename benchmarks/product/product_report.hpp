#ifndef BENCHMARKS_PRODUCT_PRODUCT_REPORT_HPP
#define BENCHMARKS_PRODUCT_PRODUCT_REPORT_HPP

#include "document.hpp"
#include "product_row.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

/// Products as a table on the terminal, printed as they come.
class products_printer_t {
public:
    void print_legend() const;
    void print_row(const product_row_t &row) const;

private:
    static table_t make_table();

    table_t table_ = make_table();
};

/// This has what every row of a document has, and `operations`; `peak` ({of,
/// per_second, share, target}) where the machine has such instructions; `share`
/// of each peer.
json_t product_row_json(const product_row_t &row);

} // namespace bench
} // namespace dnnl_dequant

#endif
