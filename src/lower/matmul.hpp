#ifndef LOWER_MATMUL_HPP
#define LOWER_MATMUL_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Lowers a partition that begins with a product. `lowered` has its ports.
result_t lower_matmul(const partition_t &partition,
        const composition_t &composition, isa_t isa, int threads,
        lowered_t &lowered);

/// What a product is lowered for.
struct product_target_t {
    isa_t isa;
    int threads; // that it will run on, most likely
    dnnl_fpmath_mode_t mode = dnnl_fpmath_mode_strict;
    /// As integers by weights that are repacked, if it can be.
    bool repacks = false;
};

/// Makes lowered.implementation.matmul for the output that `lowered` has.
result_t lower_product(const composition_t &composition,
        const product_target_t &target, lowered_t &lowered);

/// Behind lower_matmul(): adds the product by weights that are repacked once,
/// where integers are multiplied, by few rows, and all that the weights are
/// made of is constant.
result_t lower_repacked(const composition_t &composition, isa_t isa,
        int threads, lowered_t &lowered);

} // namespace dnnl_dequant

#endif
