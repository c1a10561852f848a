#ifndef BENCHMARKS_LINEAR_SET_HPP
#define BENCHMARKS_LINEAR_SET_HPP

#include <vector>

#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// Returns the rows of ONNX's ops, on three dimensions.
///
/// All rows are the cross product of
/// - DequantizeLinear and ExtendedDequantizeLinear;
/// - the integers, bf16, f16 and f8 that the op takes, and dst f32, bf16, f16;
/// - one scale, axis 0, 1 or 2, and for DequantizeLinear blocks of 32 and 128
///   along the last dimension;
/// - zps: none, of src's type;
/// - shape: 64x256x1024, 8x64x128;
/// - threads. s2, u2 and f4_e2m1 have one row for each shape.
///
/// The quick set has two dozen that differ in type, granularity and size.
std::vector<bench_case_t> linear_set(
        const std::vector<int> &threads, bool quick);

/// The rows that are compared with peers, DynamicDequantize among them: types,
/// granularities and sizes that a peer may have.
std::vector<bench_case_t> peers_set(const std::vector<int> &threads);

} // namespace bench
} // namespace dnnl_dequant

#endif
