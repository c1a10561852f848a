#ifndef BENCHMARKS_PRODUCT_PRODUCT_FORMULA_HPP
#define BENCHMARKS_PRODUCT_PRODUCT_FORMULA_HPP

#include "cold_memory.hpp"
#include "formula.hpp"
#include "product_case.hpp"

namespace dnnl_dequant {
namespace bench {

/// Compares dst with the formula in f64, at some elements spread over it:
///      dst = sum over the depth of src * floats((weight - zp) * scale)
/// It may differ by the error of sums in f32, and by one rounding to dst.
check_t check_product(const product_case_t &c, cold_memory_t &memory);

} // namespace bench
} // namespace dnnl_dequant

#endif
