#ifndef LOWER_INTEGER_PRODUCT_HPP
#define LOWER_INTEGER_PRODUCT_HPP

#include "kernels/matmul/integer_product.hpp"
#include "match/match.hpp"

namespace dnnl_dequant {

/// The product as one of integers where the graph has src in integers of 8
/// bits, which it dequantizes. Null where it has not, where it would not be
/// exact, or where no kernel takes the weights; the log says why.
/// @param block what is done together, at most; where those are few rows, the
///     weights are read as a stream if they can be
/// @returns out_of_memory, or success with `product` or without.
result_t make_integers(const composition_t &src, const composition_t &weights,
        isa_t isa, const integer_plan_t::block_t &block,
        std::shared_ptr<const integer_product_t> &product);

/// Makes the product for weights that are repacked once, in few rows, and
/// multiplied as they lie then. `product` is one that make_integers() took.
result_t make_repacked_integers(const composition_t &src,
        const composition_t &weights, isa_t isa,
        std::shared_ptr<const integer_product_t> &product);

} // namespace dnnl_dequant

#endif
