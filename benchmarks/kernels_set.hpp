#ifndef BENCHMARKS_KERNELS_SET_HPP
#define BENCHMARKS_KERNELS_SET_HPP

#include <functional>
#include <string>
#include <vector>

#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// Returns the rows of the kernels command in the order in which they are
/// printed: section by section (shape, layout, threads).
///
/// All rows of DynamicDequantize are the cross product of
/// - src u4, s4, u8, s8 and dst f32, bf16, f16;
/// - one scale, channels of either axis, groups of 32, 64 and 128 along the
///   last dimension, or groups of 128 along the first;
/// - zps: none, of src's type, s32;
/// - layout: dense, transposed src;
/// - shape: 4096x4096, 4096x11008, 256x256, 1x64;
/// - threads.
///
/// The quick set keeps each of these values in some row, but not each mix. The
/// ops of linear_set.hpp and quantize_set.hpp stand after them.
std::vector<bench_case_t> kernels_set(
        const std::vector<int> &threads, bool quick);

/// Returns the cases whose name `wanted` takes.
template <typename case_t>
std::vector<case_t> filtered(const std::vector<case_t> &cases,
        const std::function<bool(const std::string &)> &wanted) {
    std::vector<case_t> some;
    for (const auto &c : cases)
        if (wanted(c.name())) some.push_back(c);
    return some;
}

} // namespace bench
} // namespace dnnl_dequant

#endif
