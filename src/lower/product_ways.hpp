#ifndef LOWER_PRODUCT_WAYS_HPP
#define LOWER_PRODUCT_WAYS_HPP

#include "kernels/matmul/matmul.hpp"
#include "lower/blocks.hpp"
#include "lower/matmul.hpp"
#include "lower/matmul_sizes.hpp"

namespace dnnl_dequant {

/// A product as the ways to multiply see it: cut into rows, but not yet into
/// columns and depth, which is each way's own concern.
struct product_cut_t {
    const product_t &product;
    const product_target_t target;
    /// The product's.
    const dims_t shape;
    /// The chain behind the sums, in the product's dimensions; dst is an
    /// operand.
    chain_t stored;
    bool is_empty = false;   // no elements
    bool batched = false;    // weights differ from batch to batch
    bool may_repack = false; // the weights are constant and may be kept
    product_blocks_t blocks = {};
    dim_t block_rows = 1;
    /// The product of integers, where it is one and they are multiplied.
    std::shared_ptr<const integer_product_t> integers = nullptr;

    const chain_t &src() const { return product.src.chain; }
    const chain_t &weights() const { return product.weights.chain; }
    dim_t cols() const { return shape.back(); }
    dim_t threads() const { return std::max(target.threads, 1); }
    /// Columns for each thread, in whole units.
    dim_t thread_cols(dim_t unit) const {
        return round_up(div_up(cols(), threads()), unit);
    }
    /// Columns of blocks of one width, up to `most`, so that no thread has a
    /// wide one and another the rest (kernels/skinny_gemm/MEASURED.md).
    dim_t even_cols(dim_t most, dim_t unit) const {
        const dim_t cols = thread_cols(unit);
        return round_up(div_up(cols, div_up(cols, most)), unit);
    }
    bool cuts_result_evenly(dim_t size) const {
        return stored.cuts_evenly(shape.size() - 1, size);
    }
    bool cuts_cols_evenly(dim_t size) const {
        return weights().cuts_evenly(weights().shape().size() - 1, size)
               && cuts_result_evenly(size);
    }

    /// Blocks of up to `most` columns, if they can be cut where `fits`.
    /// @param pitch_unit Their pitch is a multiple of.
    template <typename fits_t>
    product_blocks_t cut_cols(
            dim_t most, dim_t unit, dim_t pitch_unit, fits_t &&fits) const {
        const dim_t size = pick_size(cols(), most, unit, fits);
        product_blocks_t cut = blocks;
        for (dim_t at = 0; at < cols(); at += size)
            cut.col_blocks.push_back(std::min(size, cols() - at));
        cut.pitch = round_up(size, pitch_unit);
        return cut;
    }
};

/// Makes a way to multiply, or says why it does not take the product; without a
/// reason where nobody would ask for it.
using product_way_t = result_t (*)(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier);

#define X(way)                              \
    result_t make_##way(product_cut_t &cut, \
            std::shared_ptr<const multiplier_t> &multiplier);
#include "lower/product_ways.def"
#undef X

/// Finds where each batch of weights begins: cut.blocks.batch_places. Refuses
/// batches that begin within a byte.
result_t find_batches(product_cut_t &cut);

/// Integers by weights that are repacked once; only where the target asks for
/// it.
result_t make_repacked(
        product_cut_t &cut, std::shared_ptr<const multiplier_t> &multiplier);

} // namespace dnnl_dequant

#endif
