// dst = steps(src * weights): how the product is cut into blocks, who
// multiplies these, and the kernels that make dst. A block of weights, or of
// dst, is a problem like any other, of the same composition.

#include "lower/matmul.hpp"

#include <algorithm>
#include <numeric>

#include "base/log.hpp"
#include "graph/logical_tensor.hpp"
#include "lower/matmul_src.hpp"
#include "lower/not_taken.hpp"
#include "lower/ports.hpp"
#include "lower/product_ways.hpp"

namespace dnnl_dequant {

namespace {

constexpr product_way_t ways[] = {
#define X(way) make_##way,
#include "lower/product_ways.def"
#undef X
};

class lowering_t {
public:
    lowering_t(const composition_t &composition, const product_target_t &target,
            lowered_t &lowered)
        : product_(*composition.product)
        , result_(composition)
        , lowered_(lowered)
        , dst_(lowered.outputs.front())
        , rank_(composition.product->shape.size())
        , cut_ {product_, target, product_.shape, composition.chain} {}

    result_t run(made_product_t &made) {
        init_operands();
        product_blocks_t &blocks = cut_.blocks;
        cut_.may_repack = cut_.target.keeps_constants
                          && has_constant_weights(lowered_, blocks);
        const dims_t &weights = cut_.weights().shape();
        blocks.depth = weights[weights.size() - 2];
        const dims_t &src = cut_.src().shape();
        blocks.rows = count_of(src.begin(), src.end() - 1);
        cut_.batched = std::any_of(weights.begin(), weights.end() - 2,
                [](dim_t dim) { return dim != 1; });
        cut_.is_empty = count_of(cut_.shape.begin(), cut_.shape.end()) == 0;
        cut_.stored.place_dst(strides_of(dst_));
        result_t result = cut_.stored.order_by_first(cut_.shape);
        if (!result.ok()) return result;
        cut_rows();
        // Strides mean nothing if there is nothing to compute.
        if (!cut_.is_empty)
            row_block_dims_ = init_row_blocks(product_, row_sizes_, blocks);
        std::shared_ptr<const multiplier_t> multiplier;
        result = cut_.target.repacks ? make_repacked(cut_, multiplier)
                                     : choose(multiplier);
        block_kernels_t kernels;
        if (result.ok() && !cut_.is_empty)
            result = make_result(multiplier->blocks(), kernels);
        if (!result.ok()) return result;
        made.product = std::make_shared<const matmul_t>(
                multiplier, std::move(kernels));
        made.integers = cut_.integers;
        return {};
    }

private:
    result_t choose(std::shared_ptr<const multiplier_t> &multiplier) {
        // The other ways read strides.
        if (cut_.is_empty) return make_float_blocks(cut_, multiplier);
        result_t made;
        for (const product_way_t way : ways) {
            made = way(cut_, multiplier);
            if (made.is_final()) break;
            if (!made.reason.empty()) log_not_taken_sentence(made.reason);
        }
        return made;
    }

    static dim_t count_of(
            dims_t::const_iterator begin, dims_t::const_iterator end) {
        return std::accumulate(begin, end, dim_t(1), std::multiplies<dim_t>());
    }

    void init_operands() {
        cut_.blocks.src_operands = add_sources(product_.src);
        cut_.blocks.weights_operands = add_sources(product_.weights);
        add_sources(result_);
        lowered_.operands.push_back({dst_.id, -1});
    }

    size_t add_sources(const composition_t &composition) {
        const auto before = static_cast<int>(lowered_.constants.size());
        // A product has no buffer of the user's.
        const size_t first = composition.product ? 1 : 0;
        for (size_t i = first; i < composition.sources.size(); ++i) {
            source_t source = composition.sources[i];
            if (source.constant >= 0) source.constant += before;
            lowered_.operands.push_back(source);
        }
        lowered_.constants.insert(lowered_.constants.end(),
                composition.constants.begin(), composition.constants.end());
        return composition.sources.size() - first;
    }

    // From the innermost dimension of rows outwards, while they are few enough
    // and are multiplied by the same weights.
    void cut_rows() {
        row_sizes_.assign(rank_ - 1, 1);
        dim_t rows = 1;
        for (size_t d = rank_ - 1; d-- > 0;) {
            if (cut_.batched && d + 2 < rank_) break;
            row_sizes_[d] = pick_size(cut_.shape[d],
                    std::max<dim_t>(most_rows / rows, 1), 1, [&](dim_t size) {
                return cut_.stored.cuts_evenly(d, size);
            });
            rows *= row_sizes_[d];
            if (row_sizes_[d] < cut_.shape[d]) break;
        }
        cut_.block_rows = rows;
    }

    result_t make_result(
            const product_blocks_t &blocks, block_kernels_t &kernels) const {
        chain_t chain = cut_.stored;
        // The sums are a block's own.
        chain.lay_first(dims_t(rank_, 0));
        const auto types = operand_types(chain);
        auto rows = whole_axis(types.size());
        for (size_t d = 0; d + 1 < rank_; ++d)
            rows = combined_axis(rows, block_axis(chain, d, row_sizes_[d]));
        kernels = block_kernels_t(types,
                {rows, block_axis(chain, rank_ - 1, blocks.col_blocks[0]),
                        whole_axis(types.size())});
        return make_kernels(kernels, cut_.target.isa,
                [&](size_t row, size_t col, size_t, problem_t &problem) {
            dims_t sizes = row_block_dims_[row];
            sizes.push_back(blocks.col_blocks[col]);
            chain_t block = chain.block(sizes);
            dims_t sums = dense_strides(sizes);
            for (size_t d = 0; d + 1 < rank_; ++d)
                sums[d] = sums[d] / sizes.back() * blocks.pitch;
            block.lay_first(sums);
            return block.finish(problem);
        });
    }

    const product_t &product_;
    const composition_t &result_;
    lowered_t &lowered_;
    const logical_tensor_t &dst_;
    const size_t rank_; // of the product
    product_cut_t cut_;
    dims_t row_sizes_; // of a block, one a dimension of rows
    std::vector<dims_t> row_block_dims_;
};

} // namespace

result_t make_product(const composition_t &composition,
        const product_target_t &target, lowered_t &lowered,
        made_product_t &made) {
    return lowering_t(composition, target, lowered).run(made);
}

result_t lower_matmul(const partition_t &partition,
        const composition_t &composition, const product_target_t &target,
        lowered_t &lowered) {
    const chain_t &chain = composition.chain;
    logical_tensor_t &dst = lowered.outputs.front();
    result_t result = infer_output(
            partition, chain.shape(), dense_strides(chain.shape()), dst);
    if (result.ok()) result = chain.finish(strides_of(dst), lowered.problem);
    made_product_t made;
    if (result.ok()) result = make_product(composition, target, lowered, made);
    if (!result.ok()) return result;
    lowered.implementation.name = made.product->name();
    lowered.implementation.workload = make_workload(made.product);
    if (!target.keeps_constants || !made.integers) return {};
    return add_repacked(composition, target, made, lowered);
}

} // namespace dnnl_dequant
