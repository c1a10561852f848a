#ifndef LOWER_REORDERED_BLOCKS_HPP
#define LOWER_REORDERED_BLOCKS_HPP

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Makes a kernel for a problem whose src is dense in another order than dst,
/// if others would read it element by element or write short rows. Weights that
/// are packed for a product are such, and filters of nibbles in another order
/// of dimensions. Blocks are computed in the order of src, then copied.
/// @returns unimplemented where another kernel takes less time.
result_t make_reordered_blocks(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
