#ifndef LOWER_ATTENTION_FACTOR_HPP
#define LOWER_ATTENTION_FACTOR_HPP

#include <algorithm>
#include <set>

#include "lower/attention_products.hpp"
#include "lower/blocks.hpp"

namespace dnnl_dequant {

/// Keys or values of attention as all ways to multiply them see them: a chain
/// of which one dimension is cut into blocks of tokens.
class attention_factor_t {
public:
    /// @param tokens The dimension of tokens, one of the last two.
    attention_factor_t(
            const chain_t &chain, size_t tokens, const attention_cut_t &cut)
        : cut_(cut)
        , chain_(chain)
        , rank_(chain.shape().size())
        , tokens_(tokens)
        , all_tokens_(chain.shape()[tokens]) {}

    /// Returns the places of the chain's blocks, with a dst that is the block's
    /// own.
    block_kernels_t places(data_type_t dst = data_type_t::f32) const;

    dim_t tokens_of(size_t block) const {
        const dim_t first = static_cast<dim_t>(block) * cut_.tokens;
        return std::min(cut_.tokens, all_tokens_ - first);
    }
    size_t block_count() const {
        return static_cast<size_t>(div_up(all_tokens_, cut_.tokens));
    }

    /// A block's rows are `pitch` elements apart, or its columns if it is
    /// [N,K].
    result_t block_problem(size_t block, dim_t pitch, problem_t &problem,
            data_type_t dst = data_type_t::f32, bool nk = false) const;

    /// Blocks that become f32, for any number of rows.
    result_t make_blocks(attention_blocks_t &plan) const;
    /// The same that become bf16. One factor's rows are `depth` long, and as
    /// many f32 `pitch` apart.
    result_t make_narrow(const std::set<dim_t> &depths, dim_t cols, dim_t pitch,
            attention_blocks_t &plan) const;

    std::set<dim_t> token_counts() const {
        return {tokens_of(0), tokens_of(block_count() - 1)};
    }

private:
    bool stored_nk() const;

    const attention_cut_t &cut_;
    const chain_t &chain_;
    const size_t rank_, tokens_;
    const dim_t all_tokens_;
};

} // namespace dnnl_dequant

#endif
