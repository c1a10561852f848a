#ifndef KERNELS_DEQUANTIZE_JIT_GROUP_TABLE_HPP
#define KERNELS_DEQUANTIZE_JIT_GROUP_TABLE_HPP

#include <cstdint>

#include "base/types.hpp"

namespace dnnl_dequant {

/// Columns in groups that share what varies, as row kernels take them.
struct jit_grouped_cols_t {
    dim_t group_cols; // of a group
    dim_t width;      // of a step
    bool are_paired;  // odd columns of a step stand half a step on
};

/// Fills jit_row_args_t::group_table for `count` columns, in whole steps.
void fill_group_table(
        const jit_grouped_cols_t &cols, dim_t count, uint32_t *table);

} // namespace dnnl_dequant

#endif
