#ifndef BENCHMARKS_QUANTIZE_SET_HPP
#define BENCHMARKS_QUANTIZE_SET_HPP

#include <vector>

#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// The rows of the ops that quantize, on three dimensions. Each op has the
/// shapes 64x256x1024 and 8x64x128, and each number of threads.
///
/// QuantizeLinear and ExtendedQuantizeLinear:
/// - from f32, bf16, f16 to the integers that each gives;
/// - one scale, axis 0, 1 or 2, and for QuantizeLinear blocks of 32 and 128
///   along the last dimension;
/// - zps: none, of dst's type.
///
/// DynamicQuantizeLinear:
/// - to u8, and to s8 with zero points and without;
/// - one range, axis 0, the last dimension, or blocks of 128 there.
///
/// The quick set has two dozen that differ in type, granularity and size.
std::vector<bench_case_t> quantize_set(
        const std::vector<int> &threads, bool quick);

/// The rows that are compared with peers.
std::vector<bench_case_t> quantize_peers_set(const std::vector<int> &threads);

} // namespace bench
} // namespace dnnl_dequant

#endif
