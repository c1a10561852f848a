#ifndef BENCHMARKS_ATTENTION_ATTENTION_FORMULA_HPP
#define BENCHMARKS_ATTENTION_ATTENTION_FORMULA_HPP

#include "attention_case.hpp"
#include "cold_memory.hpp"
#include "formula.hpp"

namespace dnnl_dequant {
namespace bench {

/// Compares some rows of dst with f64 arithmetic. They may differ by 2e-5 of
/// the row's largest value. With 16 bits they may differ by two units in the
/// last place more. Keys, values and weights may be rounded or not, which adds
/// the change that half a unit of the largest score makes.
check_t check_attention(const attention_case_t &c, cold_memory_t &memory);

} // namespace bench
} // namespace dnnl_dequant

#endif
