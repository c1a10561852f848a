// Blocks of weights, made in scratch memory as f32, bf16 or f16.

#include <algorithm>

#include "lower/low_precision_gemm.hpp"
#include "lower/matmul_src.hpp"
#include "lower/product_ways.hpp"

namespace dnnl_dequant {

namespace {

// Blocks of weights that are made in scratch memory.
product_blocks_t cut_weights(const product_cut_t &cut, block_sizes_t most) {
    most.cols = std::min(most.cols, cut.thread_cols(panel));
    product_blocks_t blocks = cut.cut_cols(most.cols, panel, panel,
            [&](dim_t size) { return cut.cuts_cols_evenly(size); });
    const size_t k = cut.weights().shape().size() - 2;
    // A block has more columns than wanted if they cannot be cut.
    const dim_t most_depth
            = std::max<dim_t>(most.depth * most.cols / blocks.pitch, 1);
    const dim_t depth = pick_size(blocks.depth, most_depth, 16,
            [&](dim_t size) { return cut.weights().cuts_evenly(k, size); });
    for (dim_t at = 0; at < blocks.depth; at += depth)
        blocks.depth_blocks.push_back(std::min(depth, blocks.depth - at));
    return blocks;
}

// The weights of all blocks, as floats of a type.
// @param k_stride, n_stride Elements from one depth, and from one column, to
//     the next in a block.
// @param packed How the first block's weights lie.
result_t make_weights(const product_cut_t &cut, const product_blocks_t &blocks,
        data_type_t type, dim_t k_stride, dim_t n_stride,
        block_kernels_t &kernels, read_ahead_t &packed) {
    const auto &rows = blocks.depth_blocks;
    if (rows.empty()) return {};
    chain_t chain = cut.weights();
    chain.set_type(type);
    const size_t rank = chain.shape().size(), k = rank - 2;
    const dims_t none(rank, 0);
    const auto types = operand_types(chain, type);
    auto outer = whole_axis(types.size());
    for (size_t d = 0; d < k; ++d)
        outer = combined_axis(outer, block_axis(chain, none, d, 1));
    kernels = block_kernels_t(types,
            {outer, block_axis(chain, none, k, rows[0]),
                    block_axis(chain, none, k + 1, blocks.col_blocks[0])});
    dims_t sizes(rank, 1), strides(rank, 0);
    strides[k] = k_stride;
    strides[k + 1] = n_stride;
    return make_kernels(kernels, cut.target.isa,
            [&](size_t, size_t row, size_t col, problem_t &problem) {
        sizes[k] = rows[row];
        sizes[k + 1] = blocks.col_blocks[col];
        const result_t result = chain.block(sizes).finish(strides, problem);
        if (result.ok() && row == 0 && col == 0) packed = rows_of(problem);
        return result;
    });
}

bool has_odd(const std::vector<dim_t> &sizes) {
    return std::any_of(sizes.begin(), sizes.end(),
            [](dim_t size) { return size % 2 != 0; });
}

// Blocks are bf16 if both factors may be rounded to it and the CPU multiplies
// pairs of it. They are f32 otherwise, and if there is no memory for that code.
// @param nk Whether the weights are [N,K] and may stay so.
result_t make_block_gemm(const product_cut_t &cut, bool nk,
        std::shared_ptr<const gemm_t> &gemm) {
    const isa_t isa = cut.target.isa;
    if (narrow_type(cut.product, cut.target.mode) == data_type_t::bf16) {
        const result_t made = make_bf16_gemm(isa, cut.block_rows, nk, gemm);
        if (made.is_final()) return made;
    }
    return make_gemm(isa, gemm);
}

// Makes the weights of a plan that has its gemm and its rows of src, and by it
// the product.
result_t make_blocks(const product_cut_t &cut, product_blocks_t blocks,
        float_blocks_t plan, std::shared_ptr<const multiplier_t> &multiplier) {
    if (!cut.is_empty) {
        const bool nk = plan.gemm->takes_nk();
        plan.ldb = nk ? round_up(blocks.depth_blocks[0], nk_pad) + nk_pad
                      : blocks.pitch;
        const result_t result = make_weights(cut, blocks, plan.gemm->type(),
                nk ? 1 : plan.ldb, nk ? plan.ldb : 1, plan.weights,
                plan.packed_weights);
        if (!result.ok()) return result;
    }
    multiplier = make_multiplier(std::move(blocks), std::move(plan));
    return {};
}

} // namespace

// Blocks of 16 bits, where the CPU multiplies them.
result_t make_low_precision_blocks(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier) {
    if (cut.blocks.depth == 0) return refuse("");
    data_type_t type = data_type_t::f32;
    result_t result = choose_narrow_type(
            cut.product, cut.target.mode, cut.target.isa, cut.block_rows, type);
    if (!result.ok()) return result;
    if (type == data_type_t::f32) return refuse("");
    product_blocks_t blocks = cut_weights(cut, low_precision_blocks);
    float_blocks_t plan;
    result = make_src_rows(
            cut.src(), type, 1, cut.target.isa, cut.blocks, plan.src);
    if (result.ok())
        result = make_low_precision_gemm(
                type, blocks, plan.src.pitch, plan.gemm);
    if (!result.ok()) return result;
    return make_blocks(cut, std::move(blocks), std::move(plan), multiplier);
}

result_t make_float_blocks(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier) {
    float_blocks_t plan;
    const dims_t order = cut.weights().preferred_order();
    const bool by_columns
            = order.back() + 1 == static_cast<dim_t>(order.size());
    const dim_t depth = cut.blocks.depth;
    result_t result = make_block_gemm(
            cut, !by_columns && depth > 0 && depth % 2 == 0, plan.gemm);
    if (!result.ok()) return result;
    const data_type_t type = plan.gemm->type();
    product_blocks_t blocks = cut_weights(
            cut, type == data_type_t::bf16
                         ? most_bf16_block_sizes(cut.block_rows,
                                   plan.gemm->takes_nk(), cut.target.isa)
                         : most_block_sizes(
                                   cut.block_rows, by_columns, cut.target.isa));
    // Pairs do not reach from one block to the next.
    if (plan.gemm->takes_nk() && has_odd(blocks.depth_blocks))
        result = make_amx_gemm(false, plan.gemm);
    if (!result.ok()) return result;
    result = make_src_rows(
            cut.src(), type, 1, cut.target.isa, cut.blocks, plan.src);
    if (!result.ok()) return result;
    const auto count = static_cast<dim_t>(blocks.col_blocks.size());
    plan.cols_together = static_cast<size_t>(std::clamp<dim_t>(
            count / (cut.threads() * units_per_thread), 1, most_cols_together));
    return make_blocks(cut, std::move(blocks), std::move(plan), multiplier);
}

} // namespace dnnl_dequant
