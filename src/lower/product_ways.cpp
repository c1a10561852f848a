// Questions that several ways to multiply ask.

#include "lower/product_ways.hpp"

namespace dnnl_dequant {

result_t find_batches(product_cut_t &cut) {
    std::vector<dim_t> &places = cut.blocks.batch_places;
    if (!cut.batched || !places.empty()) return {};
    const chain_t &chain = cut.weights();
    const size_t operands = chain.operand_count();
    auto outer = whole_axis(operands);
    for (size_t d = 0; d + 2 < chain.shape().size(); ++d) {
        if (!chain.cuts_evenly(d, 1))
            return refuse("batches of weights are not alike");
        outer = combined_axis(outer, block_axis(chain, d, 1));
    }
    std::vector<dim_t> found;
    for (size_t i = 0; i < outer.offsets.size(); ++i) {
        const dim_t bits
                = outer.offsets[i] * bits_of(chain.operand_type(i % operands));
        if (bits % 8 != 0)
            return refuse("a batch of weights begins within a byte");
        found.push_back(bits / 8);
    }
    places = std::move(found);
    return {};
}

} // namespace dnnl_dequant
