#ifndef LOWER_ATTENTION_ROWS_HPP
#define LOWER_ATTENTION_ROWS_HPP

#include "kernels/attention/attention.hpp"
#include "match/match.hpp"

namespace dnnl_dequant {

/// A factor's extent along a dimension of the scores, of which there are
/// `rank`, but their last one; 1 for those that it lacks.
inline dim_t extent_of(const chain_t &factor, size_t rank, size_t d) {
    const size_t lacks = rank - factor.shape().size();
    return d < lacks ? 1 : factor.shape()[d - lacks];
}

/// How the scores' rows are cut into blocks: rows that share keys and values,
/// from the innermost dimension outwards.
struct attention_rows_t {
    dims_t sizes; // of a block, one a dimension of the scores but tokens
    dim_t most = 1;
    std::vector<attention_plan_t::row_block_t> blocks;
    std::vector<dims_t> block_dims;
};

/// @param stored The result's chain behind the product, in the product's
///     dimensions.
attention_rows_t cut_attention_rows(const attention_t &attention,
        const chain_t &values, const chain_t &stored, dim_t most_rows);

/// True where blocks of `size` indices along dimension d of the scores look
/// alike to all that becomes of them.
bool cuts_parts_evenly(const attention_t &attention, size_t d, dim_t size);

} // namespace dnnl_dequant

#endif
