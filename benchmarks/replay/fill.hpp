#ifndef BENCHMARKS_REPLAY_FILL_HPP
#define BENCHMARKS_REPLAY_FILL_HPP

#include "graph_file.hpp"

namespace dnnl_dequant {
namespace bench {

/// Fills the memory of a value that comes from outside with what the ops that
/// use it expect: any code of a quantized type, scales that bring these to
/// about +-1, zero points near the middle of the codes, divisors in [1, 2),
/// variances in [0.5, 1.5), conditions of 0 and 1, other floats in +-1.
/// The same value is filled alike every time.
void fill_value(
        const graph_file_t &file, size_t value, void *memory, size_t size);

} // namespace bench
} // namespace dnnl_dequant

#endif
