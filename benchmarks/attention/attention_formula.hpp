#ifndef BENCHMARKS_ATTENTION_ATTENTION_FORMULA_HPP
#define BENCHMARKS_ATTENTION_ATTENTION_FORMULA_HPP

#include "attention_case.hpp"
#include "cold_memory.hpp"
#include "formula.hpp"

namespace dnnl_dequant {
namespace bench {

/// Compares some rows of dst with what f64 gives. They may differ by 2e-5 of
/// the row's largest value; of 16 bits by two units in the last place more, and
/// by what half a unit of the largest score changes: keys, values and weights
/// are rounded or not.
check_t check_attention(const attention_case_t &c, cold_memory_t &memory);

} // namespace bench
} // namespace dnnl_dequant

#endif
