#ifndef LOWER_MATMUL_HPP
#define LOWER_MATMUL_HPP

#include "kernels/matmul/matmul.hpp"
#include "lower/lower.hpp"

namespace dnnl_dequant {

/// The machine and settings that a product is lowered for.
struct product_target_t {
    isa_t isa;
    int threads; // that it will run on, most likely
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    /// True if weights that are constant may be repacked.
    bool keeps_constants = false;
    /// True if integers are multiplied by repacked weights.
    bool repacks = false;
};

/// Lowers a partition that begins with a product. `lowered` has its ports.
result_t lower_matmul(const partition_t &partition,
        const composition_t &composition, const product_target_t &target,
        lowered_t &lowered);

/// True if all tensors that the weights are made of are constant, if only
/// attributes. `lowered` has the ports, and first the operands of the product.
bool has_constant_weights(
        const lowered_t &lowered, const product_blocks_t &blocks);

/// A product; and its integers, if these are multiplied.
struct made_product_t {
    std::shared_ptr<const matmul_t> product;
    std::shared_ptr<const integer_product_t> integers;
};

/// Makes a product for the output that `lowered` has, and notes its operands.
result_t make_product(const composition_t &composition,
        const product_target_t &target, lowered_t &lowered,
        made_product_t &made);

/// Adds the product by weights that are repacked once to the product of
/// integers that was made of weights as they lie. It is added if there are few
/// rows, and if all that the weights are made of is constant.
result_t add_repacked(const composition_t &composition,
        const product_target_t &target, const made_product_t &as_they_lie,
        lowered_t &lowered);

} // namespace dnnl_dequant

#endif
