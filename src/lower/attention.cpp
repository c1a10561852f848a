// dst = steps(SoftMax(parts(query * keys)) * values): how rows and tokens are
// cut into blocks, and the kernels that make each block. A block of the query,
// of keys, values, scores or dst is a problem like any other.

#include "lower/attention.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "graph/logical_tensor.hpp"
#include "kernels/machine.hpp"
#include "lower/attention_products.hpp"
#include "lower/attention_rows.hpp"
#include "lower/blocks.hpp"
#include "lower/low_precision_gemm.hpp"
#include "lower/matmul_sizes.hpp"
#include "lower/not_taken.hpp"
#include "lower/ports.hpp"

namespace dnnl_dequant {

namespace {

using axis_t = block_kernels_t::axis_t;

// Tokens of a block. Zen 4, one thread, ms:
//   one query, eight heads of 128 by 4096 tokens in s8    128: 1.05  512: 0.69
// Xeon with AMX, 512 rows by 512 tokens:
//   f32                           128: 7.5   256: 7.3   512: 7.2
//   bf16                          128: 2.0   256: 2.0   512: 1.8
//   under a causal mask, f32      128: 4.6   256: 4.5   512: 4.5
//   under a causal mask, bf16     128: 1.5   256: 1.4   512: 1.35
constexpr dim_t most_tokens = 512;
// Rows of a block, whose scores stay in L2 next to the keys and values of a
// block of tokens. The same CPU, ms:
//   f32                           32: 7.7    64: 7.2    128: 7.1
//   under a causal mask, f32      32: 4.5    64: 4.5    128: 4.8
//   under a causal mask, bf16     32: 1.34   64: 1.36   128: 1.39
constexpr dim_t most_rows = 64;
// Rows that a thread does together, which keys and values are loaded for once:
//   f32                           64: 7.7    512: 7.1
//   bf16                          64: 2.8    512: 2.3
constexpr dim_t most_rows_together = 512;
// With fewer blocks of rows than this the tokens are split, in blocks of at
// least so many. Neither depends on the threads, nor do results.
constexpr dim_t enough_blocks = 16, tokens_a_split = 512;
// Up to so many rows may take larger blocks of tokens, if that leaves so many
// units of work where tokens are split.
constexpr dim_t few_rows = 4, enough_units = 32;

class lowering_t {
public:
    lowering_t(const composition_t &composition, const logical_tensor_t &dst,
            isa_t isa, dnnl_fpmath_mode_t mode, lowered_t &lowered)
        : composition_(composition)
        , product_(*composition.product)
        , attention_(*composition.product->attention)
        , isa_(isa)
        , mode_(mode)
        , lowered_(lowered)
        , dst_(dst)
        , shape_(attention_.scores)
        , rank_(shape_.size())
        , stored_(composition.chain) {}

    /// Sets the stats' strides over rows and one column.
    void place_stats(dims_t strides) {
        strides.pop_back();
        plan_.stats_strides = std::move(strides);
    }

    result_t run() {
        plan_.scores = shape_;
        plan_.head = attention_.query.chain.shape().back();
        plan_.cols = product_.shape.back();
        plan_.masked_rows_are_zero = attention_.masked_rows_are_zero;
        plan_.parts.resize(attention_.parts.size());
        init_operands();
        stored_.place_dst(strides_of(dst_));
        result_t result = stored_.order_by_first(product_.shape);
        if (!result.ok()) return result;
        if (element_count(lowered_.problem) > 0) {
            cut_rows();
            cut_tokens();
            result = make_blocks();
        }
        if (!result.ok()) return result;
        const auto attention
                = std::make_shared<const attention_kernel_t>(std::move(plan_));
        lowered_.implementation.name = attention->name();
        lowered_.implementation.workload = make_workload(attention);
        return {};
    }

private:
    // --- operands: the query's, the keys', the values', the parts', the
    // result's

    operand_range_t add(const composition_t &composition, size_t skipped) {
        const auto before = static_cast<int>(lowered_.constants.size());
        operand_range_t range;
        range.first = lowered_.operands.size();
        for (size_t i = skipped; i < composition.sources.size(); ++i) {
            source_t source = composition.sources[i];
            if (source.constant >= 0) source.constant += before;
            lowered_.operands.push_back(source);
        }
        lowered_.constants.insert(lowered_.constants.end(),
                composition.constants.begin(), composition.constants.end());
        range.count = lowered_.operands.size() - range.first;
        return range;
    }

    size_t add(size_t tensor) {
        lowered_.operands.push_back({tensor, -1});
        return lowered_.operands.size() - 1;
    }

    void init_operands() {
        plan_.query_operands = add(attention_.query, 0);
        plan_.keys_operands = add(attention_.keys, 0);
        plan_.values_operands = add(product_.weights, 0);
        for (size_t p = 0; p < plan_.parts.size(); ++p) {
            plan_.parts[p].operands = add(attention_.parts[p].steps, 1);
            init_mask(attention_.parts[p].mask, plan_.parts[p].mask);
        }
        if (attention_.stats) plan_.stats = add(attention_.stats->id);
        plan_.result_operands = add(composition_, 1);
        add(dst_.id);
        ++plan_.result_operands.count;
    }

    void init_mask(const score_mask_t &from, attention_mask_t &to) {
        using from_kind_t = score_mask_t::kind_t;
        using to_kind_t = attention_mask_t::kind_t;
        if (from.kind == from_kind_t::none) return;
        to.keeps_where_true = from.keeps_where_true;
        to.fill = add(from.fill);
        to.fill_type = from.fill_type;
        if (from.kind == from_kind_t::tensor) {
            to.kind = to_kind_t::tensor;
            to.condition = add(from.condition);
            to.strides = from.strides;
            return;
        }
        to.kind = to_kind_t::causal;
        for (const score_mask_t::offset_t &offset : from.offsets)
            to.offsets.push_back({add(offset.tensor), offset.is_subtracted});
    }

    // --- blocks

    const chain_t &query() const { return attention_.query.chain; }
    const chain_t &keys() const { return attention_.keys.chain; }
    const chain_t &values() const { return product_.weights.chain; }

    void cut_tokens() {
        const dim_t all = shape_.back();
        const size_t in_keys = keys().shape().size() - 1;
        const size_t in_values = values().shape().size() - 2;
        tokens_ = pick_size(all, block_tokens(), panel, [&](dim_t size) {
            return keys().cuts_evenly(in_keys, size)
                   && values().cuts_evenly(in_values, size)
                   && cuts_parts_evenly(attention_, rank_ - 1, size);
        });
        for (dim_t at = 0; at < all; at += tokens_)
            plan_.token_blocks.push_back(std::min(tokens_, all - at));
        plan_.tile_pitch = round_up(tokens_, panel);
        plan_.cols_pitch = round_up(plan_.cols, panel);
        if (splits_tokens())
            plan_.blocks_a_split = static_cast<size_t>(
                    std::max<dim_t>(tokens_a_split / tokens_, 1));
    }

    // Tokens of a block at most. A causal mask leaves out whole blocks.
    dim_t block_tokens() const {
        const dim_t most = this_machine().policy.most_tokens_of_few_rows;
        dim_t tokens = most_tokens;
        const bool may_be_digits
                = rows_.most <= few_rows && has(isa_, isa_avx512_core_vnni)
                  && may_stay_stored(keys(), 2) && may_stay_stored(values(), 1);
        if (!may_be_digits || has_causal_mask()) return tokens;
        const auto leaves_units = [this](dim_t size) {
            return !splits_tokens()
                   || row_block_count() * div_up(shape_.back(), size)
                              >= enough_units;
        };
        while (2 * tokens <= most && leaves_units(2 * tokens))
            tokens *= 2;
        return tokens;
    }

    // Integers that may be read as they lie, since a token's numbers do so side
    // by side, from a byte on. Others become f32 in memory, block by block.
    // @param numbers Their dimension, from the last one.
    static bool may_stay_stored(const chain_t &chain, size_t numbers) {
        const data_type_t type = chain.operand_type(0);
        const size_t rank = chain.shape().size(), tokens = 3 - numbers;
        const bool has_kernels = is_integer(type)
                                 && (bits_of(type) == 4 || bits_of(type) == 8);
        return has_kernels && chain.offset_of(0, rank - numbers, 1) == 1
               && chain.offset_of(0, rank - tokens, 1) * bits_of(type) % 8 == 0;
    }

    bool has_causal_mask() const {
        return std::any_of(attention_.parts.begin(), attention_.parts.end(),
                [](const auto &part) {
            return part.mask.kind == score_mask_t::kind_t::causal;
        });
    }

    dim_t row_block_count() const {
        return static_cast<dim_t>(plan_.row_blocks.size());
    }
    bool splits_tokens() const { return row_block_count() < enough_blocks; }

    void cut_rows() {
        rows_ = cut_attention_rows(attention_, values(), stored_, most_rows);
        plan_.row_blocks = rows_.blocks;
        plan_.most_rows_together = most_rows_together;
    }

    // The type that both factors may be rounded to. The factors are the query
    // and keys, or weights, which have the query's type, and values.
    data_type_t narrow_type_of(const composition_t &factor) const {
        const product_t product {attention_.query, factor, shape_, nullptr};
        return narrow_type(product, mode_);
    }

    attention_cut_t cut_of(dim_t pitch, const composition_t &factor) const {
        attention_cut_t cut {
                isa_, rows_.most, {}, tokens_, plan_.tile_pitch, pitch};
        cut.narrow_type = narrow_type_of(factor);
        if (cut.narrow_type == data_type_t::bf16
                && has(isa_, isa_avx512_core_bf16))
            cut.compute_type = cut.narrow_type;
        for (const auto &block : plan_.row_blocks)
            cut.row_counts.insert(block.rows);
        return cut;
    }

    // --- kernels

    // Blocks of a dimension of the scores, in a chain that may lack it.
    axis_t axis_of(const chain_t &chain, size_t d, dim_t size) const {
        const size_t lacks = rank_ - chain.shape().size();
        if (d >= lacks && chain.shape()[d - lacks] == shape_[d])
            return block_axis(chain, d - lacks, size);
        axis_t axis;
        const dim_t blocks = div_up(shape_[d], size);
        axis.shapes.assign(static_cast<size_t>(blocks), 0);
        axis.offsets.assign(
                static_cast<size_t>(blocks) * chain.operand_count(), 0);
        return axis;
    }

    // Blocks of rows, of a chain with its dst.
    axis_t rows_axis(const chain_t &chain) const {
        axis_t rows = whole_axis(chain.operand_count());
        for (size_t d = 0; d + 1 < rank_; ++d)
            rows = combined_axis(rows, axis_of(chain, d, rows_.sizes[d]));
        return rows;
    }

    // A chain with a dst that is a block's own.
    static chain_t with_own_dst(chain_t chain) {
        chain.place_dst(dims_t(chain.shape().size(), 0));
        return chain;
    }

    // Row-major strides with `pitch` from row to row.
    static dims_t strides_with(const dims_t &sizes, dim_t pitch) {
        dims_t strides = dense_strides(sizes);
        for (size_t d = 0; d + 1 < sizes.size(); ++d)
            strides[d] = strides[d] / std::max<dim_t>(sizes.back(), 1) * pitch;
        return strides;
    }

    result_t make_blocks() {
        result_t result = make_query();
        if (result.ok() && plan_.head > 0)
            result = make_attention_keys(keys(),
                    cut_of(plan_.tile_pitch, attention_.keys), plan_.keys);
        if (result.ok())
            result = make_attention_values(values(),
                    cut_of(plan_.cols_pitch, product_.weights), plan_.values);
        for (size_t p = 0; p < plan_.parts.size() && result.ok(); ++p)
            result = make_part(
                    attention_.parts[p].steps.chain, plan_.parts[p].steps);
        if (result.ok()) result = make_softmax();
        return result.ok() ? make_result() : result;
    }

    result_t make_query() {
        if (plan_.head == 0) return {};
        const chain_t chain = with_own_dst(query());
        plan_.query = block_kernels_t(operand_types(query(), data_type_t::f32),
                {rows_axis(chain), whole_axis(chain.operand_count()),
                        whole_axis(chain.operand_count())});
        return make_kernels(plan_.query, isa_,
                [&](size_t row, size_t, size_t, problem_t &problem) {
            const size_t lacks = rank_ - query().shape().size();
            dims_t sizes;
            for (size_t d = lacks; d + 1 < rank_; ++d)
                sizes.push_back(extent_of(query(), rank_, d) == 1
                                        ? 1
                                        : rows_.block_dims[row][d]);
            sizes.push_back(plan_.head);
            return query().block(sizes).finish(
                    strides_with(sizes, plan_.head), problem);
        });
    }

    // Steps on the tile, in place.
    result_t make_part(const chain_t &steps, block_kernels_t &kernels) {
        if (steps.steps().empty()) return {};
        chain_t chain = steps;
        chain.lay_first(dims_t(rank_, 0));
        chain = with_own_dst(chain);
        kernels = block_kernels_t(operand_types(steps, data_type_t::f32),
                {rows_axis(chain), block_axis(chain, rank_ - 1, tokens_),
                        whole_axis(chain.operand_count())});
        return make_kernels(kernels, isa_,
                [&](size_t row, size_t tokens, size_t, problem_t &problem) {
            dims_t sizes = rows_.block_dims[row];
            sizes.push_back(plan_.token_blocks[tokens]);
            const dims_t tile = strides_with(sizes, plan_.tile_pitch);
            chain_t block = steps.block(sizes);
            block.lay_first(tile);
            return block.finish(tile, problem);
        });
    }

    result_t make_softmax() {
        plan_.softmax = make_ref_softmax_rows();
        return or_another(
                "jit_softmax_rows", make_jit_softmax_rows(isa_, plan_.softmax));
    }

    result_t make_result() {
        chain_t chain = stored_;
        chain.lay_first(dims_t(rank_, 0));
        const auto types = operand_types(chain);
        plan_.result = block_kernels_t(
                types, {rows_axis(chain), whole_axis(types.size()),
                               whole_axis(types.size())});
        return make_kernels(plan_.result, isa_,
                [&](size_t row, size_t, size_t, problem_t &problem) {
            dims_t sizes = rows_.block_dims[row];
            sizes.push_back(plan_.cols);
            chain_t block = chain.block(sizes);
            block.lay_first(strides_with(sizes, plan_.cols_pitch));
            return block.finish(problem);
        });
    }

    const composition_t &composition_;
    const product_t &product_;
    const attention_t &attention_;
    const isa_t isa_;
    const dnnl_fpmath_mode_t mode_;
    lowered_t &lowered_;
    const logical_tensor_t &dst_;
    const dims_t shape_; // of the scores
    const size_t rank_;
    chain_t stored_; // from the sums to dst, in the product's dimensions
    attention_plan_t plan_;
    dim_t tokens_ = 1; // of a block
    attention_rows_t rows_;
};

logical_tensor_t &output_of(lowered_t &lowered, size_t tensor) {
    return *std::find_if(lowered.outputs.begin(), lowered.outputs.end(),
            [tensor](const logical_tensor_t &output) {
        return output.id == tensor;
    });
}

} // namespace

result_t lower_attention(const partition_t &partition,
        const composition_t &composition, isa_t isa, lowered_t &lowered) {
    const chain_t &chain = composition.chain;
    logical_tensor_t &dst
            = output_of(lowered, partition.ops.back().outputs[0].id);
    result_t result = infer_output(
            partition, chain.shape(), dense_strides(chain.shape()), dst);
    if (result.ok()) result = chain.finish(strides_of(dst), lowered.problem);
    if (!result.ok()) return result;
    lowering_t lowering(composition, dst, isa, partition.fpmath_mode, lowered);
    const attention_t &attention = *composition.product->attention;
    if (attention.stats) {
        dims_t dims = attention.scores;
        dims.back() = 1;
        logical_tensor_t &stats = output_of(lowered, attention.stats->id);
        result = infer_output(partition, dims, dense_strides(dims), stats);
        if (!result.ok()) return result;
        lowering.place_stats(strides_of(stats));
    }
    return lowering.run();
}

} // namespace dnnl_dequant
