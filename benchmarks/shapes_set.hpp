#ifndef BENCHMARKS_SHAPES_SET_HPP
#define BENCHMARKS_SHAPES_SET_HPP

#include <string>
#include <vector>

#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// The weights of models as kernels' rows. Each shape of the file comes once as
/// - u4 to f32 and bf16 in groups of 128 (or 32) along the last dimension, with
///   zero points, if that is a multiple of it;
/// - s8 to f32 by channels of the first dimension;
/// - u8 to f32 per tensor, with a zero point. `file` is a path, or the name of
///   one of shapes/ without its ending. Throws usage_error_t, with the line, if
///   a line is no shape.
std::vector<bench_case_t> shapes_set(
        const std::string &file, const std::vector<int> &threads);

} // namespace bench
} // namespace dnnl_dequant

#endif
