// dst = steps(src * weights): how the product is cut into blocks, and the
// kernels of each. What a block of weights is, or of dst, is a problem like any
// other, of the same composition.

#include "lower/matmul.hpp"

#include <algorithm>
#include <numeric>

#include "base/log.hpp"
#include "graph/logical_tensor.hpp"
#include "kernels/matmul/matmul.hpp"
#include "lower/blocks.hpp"
#include "lower/integer_product.hpp"
#include "lower/matmul_sizes.hpp"
#include "lower/matmul_src.hpp"
#include "lower/narrow_gemm.hpp"
#include "lower/not_taken.hpp"
#include "lower/ports.hpp"

namespace dnnl_dequant {

namespace {

class lowering_t {
public:
    lowering_t(const composition_t &composition, const product_target_t &target,
            lowered_t &lowered)
        : product_(*composition.product)
        , src_(composition.product->src)
        , weights_(composition.product->weights)
        , result_(composition)
        , mode_(target.mode)
        , isa_(target.isa)
        , threads_(std::max(target.threads, 1))
        , repacks_(target.repacks)
        , lowered_(lowered)
        , dst_(lowered.outputs.front())
        , shape_(composition.product->shape)
        , rank_(shape_.size()) {}

    result_t run(std::shared_ptr<const matmul_t> &product) {
        note_operands();
        const dims_t &weights = weights_.chain.shape();
        plan_.depth = weights[weights.size() - 2];
        const dims_t &src = src_.chain.shape();
        plan_.rows = count_of(src.begin(), src.end() - 1);
        batched_ = std::any_of(weights.begin(), weights.end() - 2,
                [](dim_t dim) { return dim != 1; });
        stored_ = result_.chain;
        stored_.place_dst(strides_of(dst_));
        result_t result = stored_.order_by_first(shape_);
        if (result.ok()) result = make_gemm(isa_, plan_.gemm);
        if (!result.ok()) return result;
        cut_rows();
        const bool is_empty = count_of(shape_.begin(), shape_.end()) == 0;
        if (!is_empty)
            row_block_dims_ = note_row_blocks(product_, row_sizes_, plan_);
        // Where there is nothing to compute, strides tell nothing.
        if (!is_empty) {
            result = choose_integers_or_gemv();
            if (result.ok()) result = choose_narrow();
        }
        if (result.ok() && !plan_.integers && !plan_.narrow) result = cut();
        if (!result.ok()) return result;
        if (plan_.integers) cut_integer_cols();
        if (!is_empty) {
            result = make_weights();
            if (result.ok()) result = make_parameters();
            if (result.ok()) result = make_result();
            if (!result.ok()) return result;
        }
        product = std::make_shared<const matmul_t>(std::move(plan_));
        return {};
    }

private:
    static dim_t count_of(
            dims_t::const_iterator begin, dims_t::const_iterator end) {
        return std::accumulate(begin, end, dim_t(1), std::multiplies<dim_t>());
    }

    void note_operands() {
        plan_.src_operands = add_sources(src_);
        plan_.weights_operands = add_sources(weights_);
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

    // Rows of src, and what else is cut.
    result_t cut() {
        cut_depth_and_cols();
        if (!plan_.gemv)
            return make_src_rows(src_.chain, block_type_, 1, isa_, plan_);
        return make_src_rows(src_.chain, plan_.gemv->src_type(),
                plan_.gemv->src_unit(), isa_, plan_);
    }

    // From the innermost dimension of rows outwards, while they are few enough
    // and are multiplied by the same weights.
    void cut_rows() {
        row_sizes_.assign(rank_ - 1, 1);
        dim_t rows = 1;
        for (size_t d = rank_ - 1; d-- > 0;) {
            if (batched_ && d + 2 < rank_) break;
            row_sizes_[d] = pick_size(shape_[d],
                    std::max<dim_t>(most_rows / rows, 1), 1,
                    [&](dim_t size) { return stored_.cuts_evenly(d, size); });
            rows *= row_sizes_[d];
            if (row_sizes_[d] < shape_[d]) break;
        }
        block_rows_ = rows;
    }

    // Where it refuses, blocks serve, and the log says why.
    result_t choose_gemv() {
        const dims_t &shape = weights_.chain.shape();
        if (batched_ || block_rows_ > gemv_t::most_rows || plan_.depth == 0)
            return {};
        dims_t strides(shape.size(), 0);
        strides[shape.size() - 2] = shape.back() + panel;
        strides.back() = 1;
        problem_t problem;
        gemv_weights_t &weights = few_weights_;
        result_t result = weights_.chain.finish(strides, problem);
        if (result.ok())
            result = describe_weights(
                    problem, plan_.depth, shape.back(), weights);
        // Only AMX multiplies pairs of f16, in tiles that few rows do not fill.
        if (has(isa_, isa_avx512_core_bf16)
                && narrow_type(product_, mode_) == data_type_t::bf16)
            weights.multiplied = data_type_t::bf16;
        if (result.ok())
            result = make_gemv(weights, block_rows_, isa_, plan_.gemv);
        return or_another("jit_matmul_few_rows", result);
    }

    // Of few rows: integers as a stream, else f32 as one, else integers.
    result_t choose_integers_or_gemv() {
        if (repacks_)
            return make_repacked_integers(src_, weights_, isa_, plan_.integers);
        result_t result = make_integers(src_, weights_, isa_,
                {block_rows_, most_gemv_cols}, plan_.integers);
        if (!result.ok()) return result;
        if (plan_.integers) {
            const integer_plan_t &plan = plan_.integers->plan();
            const bool by_column = plan.format.depth_stride == 1;
            if (plan.stream
                    || block_rows_ > few_quantized_rows(isa_, by_column))
                return {};
        }
        result = choose_gemv();
        if (plan_.gemv) plan_.integers = nullptr;
        return result;
    }

    // Blocks of 16 bits, where the CPU multiplies them.
    result_t choose_narrow() {
        if (plan_.integers || plan_.gemv || plan_.depth == 0) return {};
        result_t result = choose_narrow_type(
                product_, mode_, isa_, block_rows_, block_type_);
        if (result.ok() && block_type_ == data_type_t::f32) return {};
        if (result.ok()) result = cut();
        if (result.ok())
            result = make_narrow_gemm(block_type_, plan_, plan_.narrow);
        if (result.is_final()) return result;
        log_refusal(log_dispatch, "implementation", result.reason);
        block_type_ = data_type_t::f32;
        plan_.src = nullptr;
        return {};
    }

    void cut_integer_cols() {
        const bool by_column = plan_.integers->plan().format.depth_stride == 1;
        const bool streams = plan_.integers->plan().stream != nullptr;
        dim_t most = streams && !by_column
                             ? most_gemv_cols
                             : most_integer_cols(block_rows_, by_column);
        if (repacks_) most = most_repacked_cols(block_rows_);
        most = std::min(
                most, round_up(div_up(shape_.back(), threads_), integer_panel));
        cols_ = pick_size(shape_.back(), most, integer_panel, [&](dim_t size) {
            return size % integer_panel == 0
                   && stored_.cuts_evenly(rank_ - 1, size);
        });
        note_col_blocks();
    }

    void note_col_blocks() {
        plan_.col_blocks.clear();
        plan_.pitch = round_up(
                cols_, plan_.integers ? integer_stream_t::panel : panel);
        for (dim_t at = 0; at < shape_.back(); at += cols_)
            plan_.col_blocks.push_back(std::min(cols_, shape_.back() - at));
    }

    void cut_depth_and_cols() {
        const bool by_columns = weights_.chain.preferred_order().back() == 1;
        block_sizes_t most = narrow_blocks;
        if (block_type_ == data_type_t::f32)
            most = most_block_sizes(block_rows_, by_columns, isa_);
        most.cols = std::min(
                most.cols, round_up(div_up(shape_.back(), threads_), panel));
        const dim_t few_panel = plan_.gemv ? plan_.gemv->panel() : 1;
        const bool in_parts = plan_.gemv && plan_.gemv->partial_floats() > 1;
        const dim_t most_sums
                = in_parts ? most_transposed_sums : most_gemv_sums;
        if (plan_.gemv)
            most.cols = std::min(
                    few_weights_.by_column
                            ? most_dot_cols
                            : std::min(most_gemv_cols,
                                      most_sums / block_rows_ / panel * panel),
                    round_up(div_up(shape_.back(), threads_), few_panel));
        const size_t k = weights_.chain.shape().size() - 2;
        cols_ = pick_size(shape_.back(), most.cols, panel, [&](dim_t size) {
            return size % few_panel == 0
                   && weights_.chain.cuts_evenly(k + 1, size)
                   && stored_.cuts_evenly(rank_ - 1, size);
        });
        // Where columns cannot be cut there are more of them than wanted.
        const dim_t depth = std::max<dim_t>(
                most.depth * most.cols / round_up(cols_, panel), 1);
        depth_ = pick_size(plan_.depth, depth, 16, [&](dim_t size) {
            return weights_.chain.cuts_evenly(k, size);
        });
        plan_.depth_blocks.clear();
        for (dim_t at = 0; at < plan_.depth; at += depth_)
            plan_.depth_blocks.push_back(std::min(depth_, plan_.depth - at));
        note_col_blocks();
        plan_.cols_together = cols_together();
    }

    size_t cols_together() const {
        if (plan_.gemv || block_type_ != data_type_t::f32) return 1;
        const auto count = static_cast<dim_t>(plan_.col_blocks.size());
        return static_cast<size_t>(std::clamp<dim_t>(
                count / (threads_ * units_per_thread), 1, most_cols_together));
    }

    result_t make_weights() {
        chain_t chain = weights_.chain;
        chain.set_type(block_type_);
        const size_t rank = chain.shape().size(), k = rank - 2;
        const dims_t none(rank, 0);
        const auto types = operand_types(chain, block_type_);
        auto outer = whole_axis(types.size());
        for (size_t d = 0; d < k; ++d)
            outer = combined_axis(outer, block_axis(chain, none, d, 1));
        const auto &rows = plan_.depth_blocks;
        if (rows.empty() || plan_.gemv || plan_.integers) return {};
        plan_.weights = block_kernels_t(
                types, {outer, block_axis(chain, none, k, depth_),
                               block_axis(chain, none, k + 1, cols_)});
        dims_t sizes(rank, 1), strides(rank, 0);
        strides[k] = plan_.pitch;
        strides[k + 1] = 1;
        return make_kernels(plan_.weights, isa_,
                [&](size_t, size_t row, size_t col, problem_t &problem) {
            sizes[k] = plan_.depth_blocks[row];
            sizes[k + 1] = plan_.col_blocks[col];
            const result_t result = chain.block(sizes).finish(strides, problem);
            if (result.ok() && row == 0 && col == 0)
                plan_.packed_weights = rows_of(problem);
            return result;
        });
    }

    // The few rows' scales and zero points.
    result_t make_parameters() {
        if (!plan_.gemv) return {};
        plan_.groups = few_weights_.groups();
        const gemv_parameters_t *const places[]
                = {&few_weights_.scales, &few_weights_.zps};
        result_t result;
        for (size_t p = 0; p < plan_.parameters.size() && result.ok(); ++p)
            if (places[p]->type != data_type_t::undef)
                result = make_parameters(*places[p], plan_.parameters[p]);
        return result;
    }

    result_t make_parameters(const gemv_parameters_t &place,
            matmul_plan_t::parameters_t &parameters) {
        chain_t chain;
        chain.begin(place.type, {few_weights_.cols, plan_.groups},
                {place.column_stride, place.group_stride});
        chain.set_type(data_type_t::f32);
        const dims_t strides = plan_.gemv->parameters_by_column()
                                       ? dims_t {plan_.groups, 1}
                                       : dims_t {1, plan_.pitch};
        parameters.operand = place.operand;
        parameters.kernels = block_kernels_t({place.type, data_type_t::f32},
                {block_axis(chain, {0, 0}, 0, cols_), whole_axis(2),
                        whole_axis(2)});
        return make_kernels(parameters.kernels, isa_,
                [&](size_t block, size_t, size_t, problem_t &problem) {
            return chain.block({plan_.col_blocks[block], plan_.groups})
                    .finish(strides, problem);
        });
    }

    result_t make_result() {
        chain_t chain = stored_;
        // The sums are a block's own.
        chain.lay_first(dims_t(rank_, 0));
        const auto types = operand_types(chain);
        auto rows = whole_axis(types.size());
        for (size_t d = 0; d + 1 < rank_; ++d)
            rows = combined_axis(rows, block_axis(chain, d, row_sizes_[d]));
        plan_.result = block_kernels_t(
                types, {rows, block_axis(chain, rank_ - 1, cols_),
                               whole_axis(types.size())});
        return make_kernels(plan_.result, isa_,
                [&](size_t row, size_t col, size_t, problem_t &problem) {
            dims_t sizes = row_block_dims_[row];
            sizes.push_back(plan_.col_blocks[col]);
            chain_t block = chain.block(sizes);
            dims_t sums = dense_strides(sizes);
            for (size_t d = 0; d + 1 < rank_; ++d)
                sums[d] = sums[d] / sizes.back() * plan_.pitch;
            block.lay_first(sums);
            return block.finish(problem);
        });
    }

    const product_t &product_;
    const composition_t &src_, &weights_, &result_;
    const dnnl_fpmath_mode_t mode_;
    const isa_t isa_;
    const dim_t threads_;
    const bool repacks_;
    lowered_t &lowered_;
    const logical_tensor_t &dst_;
    const dims_t shape_; // of the product
    const size_t rank_;
    // The value, dst being an operand, in the product's dimensions.
    chain_t stored_;
    bool batched_ = false;
    dims_t row_sizes_; // of a block, one a dimension of rows
    std::vector<dims_t> row_block_dims_;
    gemv_weights_t few_weights_; // where plan_.gemv serves
    dim_t block_rows_ = 1, cols_ = 1, depth_ = 1;
    data_type_t block_type_ = data_type_t::f32; // of blocks' src and weights
    matmul_plan_t plan_;
};

} // namespace

result_t make_product(const composition_t &composition,
        const product_target_t &target, lowered_t &lowered,
        std::shared_ptr<const matmul_t> &product) {
    return lowering_t(composition, target, lowered).run(product);
}

result_t lower_matmul(const partition_t &partition,
        const composition_t &composition, const product_target_t &target,
        bool keeps_constants, lowered_t &lowered) {
    const chain_t &chain = composition.chain;
    logical_tensor_t &dst = lowered.outputs.front();
    result_t result = infer_output(
            partition, chain.shape(), dense_strides(chain.shape()), dst);
    if (result.ok()) result = chain.finish(strides_of(dst), lowered.problem);
    std::shared_ptr<const matmul_t> product;
    if (result.ok())
        result = make_product(composition, target, lowered, product);
    if (!result.ok()) return result;
    lowered.implementation.name = product->name();
    lowered.implementation.workload = make_workload(product);
    if (!keeps_constants) return {};
    return add_repacked(composition, target, product->plan(), lowered);
}

} // namespace dnnl_dequant
