#ifndef BENCHMARKS_REPLAY_REFERENCE_HPP
#define BENCHMARKS_REPLAY_REFERENCE_HPP

#include <functional>

#include "formula.hpp"
#include "graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// Compares what a single dequantize made with the formula, at `most` points
/// evenly spread over it. `memory` gives a value's; `values` its description.
check_t check_dequantize(const graph_op_t &op,
        const std::map<size_t, graph_value_t> &values,
        const std::function<const void *(size_t value)> &memory,
        size_t most = size_t {1} << 18);

/// Compares two results of one type in the order of memory, gaps included (both
/// were poisoned alike). Any NaN equals any other.
struct difference_t {
    size_t compared = 0, different = 0;
    double largest = 0;  // |a - b|
    double greatest = 0; // |b|: what `largest` is seen against
};
difference_t compare_bytes(
        type_t type, const void *a, const void *b, size_t size);

} // namespace bench
} // namespace dnnl_dequant

#endif
