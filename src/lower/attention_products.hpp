#ifndef LOWER_ATTENTION_PRODUCTS_HPP
#define LOWER_ATTENTION_PRODUCTS_HPP

#include <set>

#include "kernels/attention/products.hpp"
#include "problem/chain.hpp"

namespace dnnl_dequant {

/// The blocks that both products of attention are cut into.
struct attention_cut_t {
    isa_t isa;
    dim_t rows; // of the largest block
    /// The different numbers of rows that blocks have.
    std::set<dim_t> row_counts;
    dim_t tokens;       // of a block, all but the last
    dim_t scores_pitch; // floats from row to row
    dim_t pitch;        // the same of the result, or of scores
    /// The type that both factors are multiplied in, f32 or bf16.
    data_type_t compute_type = data_type_t::f32;
    /// The type that both factors may be rounded to, whatever multiplies them:
    /// f32, bf16 or f16.
    data_type_t narrow_type = data_type_t::f32;
};

/// The first way that takes the keys, [..., head, tokens], or values, [...,
/// tokens, columns]; why those before it did not is logged.
result_t make_attention_keys(const chain_t &keys, const attention_cut_t &cut,
        std::shared_ptr<const keys_product_t> &product);
result_t make_attention_values(const chain_t &values,
        const attention_cut_t &cut,
        std::shared_ptr<const values_product_t> &product);

} // namespace dnnl_dequant

#endif
