#ifndef BENCHMARKS_TABLE_HPP
#define BENCHMARKS_TABLE_HPP

#include <string>
#include <vector>

namespace dnnl_dequant {
namespace bench {

struct column_t {
    std::string title;
    int width;
    bool right = false; // which side the text stands at
};

/// Prints aligned lines as they come; a text too wide moves the rest along.
class table_t {
public:
    explicit table_t(std::vector<column_t> columns)
        : columns_(std::move(columns)) {}

    void print_titles() const;
    void print_row(const std::vector<std::string> &cells) const;

private:
    std::vector<column_t> columns_;
};

/// Returns a text such as "2.05 ms": three digits and the unit that suits; "-"
/// for 0.
std::string time_text(double seconds);
/// Returns a text such as "12.3", with so many digits after the point.
std::string number_text(double value, int digits);
/// "0.0012": two digits that count.
std::string short_text(double value);
/// Returns a text such as "265x" or "1.8x".
std::string times_text(double factor);

} // namespace bench
} // namespace dnnl_dequant

#endif
