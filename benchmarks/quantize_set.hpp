#ifndef BENCHMARKS_QUANTIZE_SET_HPP
#define BENCHMARKS_QUANTIZE_SET_HPP

#include <vector>

#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// The rows of the ops that quantize, on three dimensions.
///
/// All of them: QuantizeLinear and ExtendedQuantizeLinear from {f32 bf16 f16}
/// to the integers that each gives x granularity {tensor, axis 0, 1 and 2, and
/// of QuantizeLinear blocks of 32 and 128 along the last dimension} x zps
/// {none, of dst's type}; DynamicQuantizeLinear to u8, and to s8 with zero
/// points and without, x granularity {tensor, axis 0, last dimension, blocks of
/// 128 there}; each x shape {64x256x1024, 8x64x128} x threads.
///
/// The quick set has two dozen that differ in type, granularity and size.
std::vector<bench_case_t> quantize_set(
        const std::vector<int> &threads, bool quick);

/// What is compared with peers.
std::vector<bench_case_t> quantize_peers_set(const std::vector<int> &threads);

} // namespace bench
} // namespace dnnl_dequant

#endif
