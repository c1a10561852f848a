// Questions that several ways to multiply ask.

#include "lower/product_ways.hpp"

#include "base/text.hpp"

namespace dnnl_dequant {

result_t find_batches(product_cut_t &cut) {
    std::vector<dim_t> &places = cut.blocks.batch_places;
    if (!cut.batched || !places.empty()) return {};
    const chain_t &chain = cut.weights();
    const size_t operands = chain.operand_count();
    auto outer = whole_axis(operands);
    for (size_t d = 0; d + 2 < chain.shape().size(); ++d)
        outer = combined_axis(outer, block_axis(chain, d, 1));
    std::vector<dim_t> found;
    for (size_t i = 0; i < outer.offsets.size(); ++i) {
        const data_type_t type = chain.operand_type(i % operands);
        const dim_t bits = outer.offsets[i] * bits_of(type);
        if (bits % 8 != 0)
            return refuse(text("a batch of ", to_string(type),
                    " begins at bit ", bits % 8, " of a byte; expected bit 0"));
        found.push_back(bits / 8);
    }
    places = std::move(found);
    return {};
}

} // namespace dnnl_dequant
