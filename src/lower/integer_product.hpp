#ifndef LOWER_INTEGER_PRODUCT_HPP
#define LOWER_INTEGER_PRODUCT_HPP

#include "kernels/integer_gemm/integer_product.hpp"
#include "match/match.hpp"

namespace dnnl_dequant {

/// Src as integers of 8 bits less their zero points, which a scale of each row
/// multiplies.
struct scaled_integers_t {
    chain_t differences; // bf16 holds them
    size_t scales = 0;   // the operand of src
};

/// Takes the scales out of src that is dequantized. Refuses other src, and
/// scales that change along a row.
result_t split_row_scales(const composition_t &src, scaled_integers_t &scaled);

/// Makes the product as one of integers, if the graph has src in integers of 8
/// bits, which it dequantizes. It is null, and the log says why, if the graph
/// has no such src, if the product would not be exact, or if no kernel takes
/// the weights. The plan has the first batch of weights.
/// @param rows The most that are done together. If they are few, the weights
///     are read as a stream if they can be.
/// @returns out_of_memory, or success with `product` or without.
result_t make_integers(const composition_t &src, const composition_t &weights,
        isa_t isa, dim_t rows,
        std::shared_ptr<const integer_product_t> &product);

/// Makes the product for weights that are repacked once, in few rows, and
/// multiplied as they lie then. `product` is one that make_integers() took.
result_t make_repacked_integers(const composition_t &src,
        const composition_t &weights, isa_t isa,
        std::shared_ptr<const integer_product_t> &product);

} // namespace dnnl_dequant

#endif
