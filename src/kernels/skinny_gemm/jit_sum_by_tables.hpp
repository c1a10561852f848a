#ifndef KERNELS_SKINNY_GEMM_JIT_SUM_BY_TABLES_HPP
#define KERNELS_SKINNY_GEMM_JIT_SUM_BY_TABLES_HPP

#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

/// True for numbers of 4 bits and fewer whose values are rounded, in groups of
/// whole 32 columns: then a table of values serves enough of them. They
/// prefetch weighted_sum_t::block_t::next, anew for each sixteen tokens.
bool takes_sum_by_tables(const weighted_values_t &values);

/// Makes a kernel of AVX2 for values that takes_sum_by_tables() allows.
result_t make_jit_sum_by_tables(const weighted_values_t &values, dim_t rows,
        std::shared_ptr<const weighted_sum_t> &sum);

} // namespace dnnl_dequant

#endif
