#ifndef BENCHMARKS_PAGE_PAGE_HPP
#define BENCHMARKS_PAGE_PAGE_HPP

#include <string>

#include "document.hpp"

namespace dnnl_dequant {
namespace bench {

// The files of this folder, put into the program by CMake.
extern const char *const page_html, *const page_style, *const page_script;

/// A page that shows the document in charts and tables and needs nothing else,
/// no network either.
std::string page_of(const json_t &document);

} // namespace bench
} // namespace dnnl_dequant

#endif
