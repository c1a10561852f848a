// Products of integers: as a stream for few rows, in blocks for more.

#include "lower/integer_product.hpp"
#include "lower/product_ways.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t sums_pad = 16;

std::shared_ptr<const multiplier_t> multiplier_of(const product_cut_t &cut) {
    const integer_plan_t &plan = cut.integers->plan();
    const bool by_column = plan.format.is_by_column();
    dim_t most = plan.stream && !by_column
                         ? most_skinny_cols
                         : most_integer_cols(cut.block_rows, plan.format);
    if (cut.target.repacks) most = most_repacked_cols(cut.block_rows);
    most = cut.even_cols(most, integer_panel);
    product_blocks_t blocks = cut.cut_cols(
            most, integer_panel, integer_stream_t::panel, [&](dim_t size) {
        return size % integer_panel == 0 && cut.cuts_result_evenly(size);
    });
    // Rows of sums a power of two apart would meet in the same sets of the
    // cache.
    if (has_tiles(plan.format)) blocks.pitch += sums_pad;
    return make_multiplier(std::move(blocks), cut.integers);
}

} // namespace

result_t make_repacked(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier) {
    if (cut.is_empty) return refuse("");
    const result_t result = make_repacked_integers(
            cut.product.src, cut.product.weights, cut.target.isa, cut.integers);
    if (!result.ok()) return result;
    return make_other_integers(cut, multiplier);
}

result_t make_preferred_integers(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier) {
    result_t result = make_integers(cut.product.src, cut.product.weights,
            cut.target.isa, cut.block_rows, cut.integers);
    if (result.ok() && !cut.integers) result = refuse("");
    if (!result.ok()) return result;
    result = find_batches(cut);
    if (!result.ok()) {
        cut.integers = nullptr;
        return refuse("integer_matmul: " + result.reason);
    }
    const integer_plan_t &plan = cut.integers->plan();
    const bool by_column = plan.format.is_by_column();
    if (!plan.stream
            && cut.block_rows <= few_quantized_rows(cut.target.isa, by_column))
        return refuse("");
    return make_other_integers(cut, multiplier);
}

result_t make_other_integers(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier) {
    if (!cut.integers) return refuse("");
    multiplier = multiplier_of(cut);
    return {};
}

} // namespace dnnl_dequant
