#include "table.hpp"

#include <cstdio>

namespace dnnl_dequant {
namespace bench {

void table_t::print_titles() const {
    std::vector<std::string> titles;
    for (const auto &column : columns_)
        titles.push_back(column.title);
    print_row(titles);
}

void table_t::print_row(const std::vector<std::string> &cells) const {
    std::string line;
    size_t end = 0; // where the columns so far should end
    for (size_t i = 0; i < cells.size() && i < columns_.size(); i++) {
        const auto &column = columns_[i];
        if (i > 0) line += "  ", end += 2;
        const size_t start = line.size();
        end += static_cast<size_t>(column.width);
        const size_t room = end > start ? end - start : 0;
        const size_t used = cells[i].size();
        const std::string padding(room > used ? room - used : 0, ' ');
        line += column.right ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

std::string number_text(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}

std::string time_text(double seconds) {
    if (seconds <= 0) return "-";
    const char *unit = "s";
    double value = seconds;
    for (const char *smaller : {"ms", "us", "ns"}) {
        if (value >= 1) break;
        value *= 1e3;
        unit = smaller;
    }
    const int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    return number_text(value, digits) + " " + unit;
}

std::string short_text(double value) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.2g", value);
    return text;
}

std::string times_text(double factor) {
    return number_text(factor, factor < 10 ? 1 : 0) + "x";
}

} // namespace bench
} // namespace dnnl_dequant
