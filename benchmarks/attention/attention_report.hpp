#ifndef BENCHMARKS_ATTENTION_ATTENTION_REPORT_HPP
#define BENCHMARKS_ATTENTION_ATTENTION_REPORT_HPP

#include "attention_row.hpp"
#include "document.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

/// Attention as a table on the terminal, printed as it comes.
class attention_printer_t {
public:
    void print_legend() const;
    void print_row(const attention_row_t &row) const;

private:
    static table_t make_table();

    table_t table_ = make_table();
};

/// Measures and prints them.
std::vector<attention_row_t> measure_caches(
        const std::vector<attention_case_t> &cases,
        const measure_options_t &options);

/// These rows have what every row of a document has, and `operations`; `peak`
/// ({of, per_second, share, target}) where the machine has such instructions.
void add_rows(json_t &document, const std::vector<attention_row_t> &rows);

} // namespace bench
} // namespace dnnl_dequant

#endif
