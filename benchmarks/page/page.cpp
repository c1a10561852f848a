#include "page/page.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// The page shows medians and quartiles.
void drop_samples(json_t &value) {
    if (value.is_object()) value.erase("samples");
    if (value.is_structured())
        for (auto &item : value)
            drop_samples(item);
}

void replace(
        std::string &text, const std::string &what, const std::string &with) {
    const size_t at = text.find(what);
    if (at != std::string::npos) text.replace(at, what.size(), with);
}

} // namespace

std::string page_of(const json_t &document) {
    json_t figures = document;
    drop_samples(figures);
    std::string data
            = figures.dump(-1, ' ', true, json_t::error_handler_t::replace);
    // Names come from the user's files: none may end the element.
    for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
        data.replace(at, 1, "\\u003c");
    std::string page = page_html;
    replace(page, "/*STYLE*/", page_style);
    replace(page, "/*SCRIPT*/", page_script);
    replace(page, "/*FIGURES*/", data);
    return page;
}

} // namespace bench
} // namespace dnnl_dequant
