#ifndef BENCHMARKS_QUANTIZE_FORMULA_HPP
#define BENCHMARKS_QUANTIZE_FORMULA_HPP

#include "formula.hpp"

namespace dnnl_dequant {
namespace bench {

/// check_result() of the ops that quantize to integers, by their formula,
/// written down a second time:
///   dst   = saturate(round(src / scale) + zp)      division and rounding in
///   f32
/// where DynamicQuantizeLinear has from each group's range, 0 among it,
///   scale = (most - least) / (highest - lowest)    and
///   zp    = round(saturate(lowest - least / scale)),
/// or without zero points scale = most magnitude / 127. All of those are
/// compared too.
check_t check_quantized(const bench_case_t &c, const buffers_t &b, size_t most);

} // namespace bench
} // namespace dnnl_dequant

#endif
