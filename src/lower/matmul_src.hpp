#ifndef LOWER_MATMUL_SRC_HPP
#define LOWER_MATMUL_SRC_HPP

#include "base/isa.hpp"
#include "kernels/matmul/matmul.hpp"
#include "match/match.hpp"

namespace dnnl_dequant {

/// Says where the product's rows of src lie: in the user's memory, if they are
/// of `type` and of one pitch there; else rows.kernel makes them.
/// @param src [..., blocks.depth], of f32.
/// @param type The type of the rows that are multiplied.
/// @param unit Elements of a row that are read at once; rows are made if it is
///     more than one.
result_t make_src_rows(const chain_t &src, data_type_t type, dim_t unit,
        isa_t isa, const product_blocks_t &blocks, src_rows_t &rows);

/// Returns the places of an operand's elements along a dimension, one for each
/// index.
std::vector<dim_t> places_along(const chain_t &chain, size_t operand, size_t d);
/// Returns one place for each row. Rows go along all dimensions but the last.
std::vector<dim_t> places_of_rows(const chain_t &chain, size_t operand);

/// Lists every block of rows in blocks.row_blocks, the last dimension the
/// innermost.
/// @param sizes A block's sizes, one for each dimension of the product except
///     the columns.
/// @returns each block's own sizes, which are smaller at the end of a
///     dimension.
std::vector<dims_t> init_row_blocks(const product_t &product,
        const dims_t &sizes, product_blocks_t &blocks);

} // namespace dnnl_dequant

#endif
