#ifndef BENCHMARKS_SERVE_SERVE_MIX_HPP
#define BENCHMARKS_SERVE_SERVE_MIX_HPP

#include <vector>

#include "replay/graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// The graphs that are served if the user names none: dequantizes of a layer's
/// size or less that stock oneDNN runs too, fast and slow ones.
std::vector<graph_file_t> standard_mix();

/// The same graph with other ids, which no cache has met.
graph_file_t renumbered(const graph_file_t &graph, size_t offset);

} // namespace bench
} // namespace dnnl_dequant

#endif
