#ifndef LOWER_MATMUL_SRC_HPP
#define LOWER_MATMUL_SRC_HPP

#include "base/isa.hpp"
#include "kernels/matmul/matmul.hpp"
#include "match/match.hpp"

namespace dnnl_dequant {

/// Says where the product's rows of src lie, by plan.src_pitch: in the user's
/// memory, if they are of `type` and of one pitch there; else plan.src makes
/// them.
/// @param src [..., plan.depth], of f32.
/// @param type Of the rows that are multiplied.
/// @param unit Elements that are read of a row at once; where that is more
///     than one the rows are made.
result_t make_src_rows(const chain_t &src, data_type_t type, dim_t unit,
        isa_t isa, matmul_plan_t &plan);

/// Notes every block of rows in plan.row_blocks, the last dimension the
/// innermost.
/// @param sizes Of a block, one a dimension of the product but the columns.
/// @returns each one's own sizes, which are smaller at the end of a dimension.
std::vector<dims_t> note_row_blocks(
        const product_t &product, const dims_t &sizes, matmul_plan_t &plan);

} // namespace dnnl_dequant

#endif
