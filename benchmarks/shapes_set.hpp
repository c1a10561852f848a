#ifndef BENCHMARKS_SHAPES_SET_HPP
#define BENCHMARKS_SHAPES_SET_HPP

#include <string>
#include <vector>

#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// The weights of models as kernels' rows: each shape of the file once, as
///   u4 -> f32 and bf16 in groups of 128 (or 32) along the last dimension, with
///   zero points, where that is a multiple of it;
///   s8 -> f32 by channels of the first dimension;
///   u8 -> f32 per tensor, with a zero point.
/// `file` is a path, or the name of one of shapes/ without its ending. Throws
/// usage_error_t, with the line, for what is no shape.
std::vector<bench_case_t> shapes_set(
        const std::string &file, const std::vector<int> &threads);

} // namespace bench
} // namespace dnnl_dequant

#endif
