#ifndef BENCHMARKS_REPLAY_FILL_HPP
#define BENCHMARKS_REPLAY_FILL_HPP

#include "graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// Fills the memory of a value that comes from outside with numbers that the
/// ops that use it expect. The same value is filled alike every time.
/// - quantized types: any code
/// - scales: so that quantized values become about +-1
/// - zero points: near the middle of the codes
/// - divisors: [1, 2); variances: [0.5, 1.5)
/// - conditions: 0 and 1
/// - other floats: +-1
void fill_value(
        const graph_file_t &file, size_t value, void *memory, size_t size);

} // namespace bench
} // namespace dnnl_dequant

#endif
