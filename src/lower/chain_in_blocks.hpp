#ifndef LOWER_CHAIN_IN_BLOCKS_HPP
#define LOWER_CHAIN_IN_BLOCKS_HPP

#include "lower/lower.hpp"
#include "problem/chain.hpp"

namespace dnnl_dequant {

/// Makes a chain that begins with a dequantize block by block. A kernel of the
/// dequantize family writes a block to scratch memory, which stays in L2. One
/// of the elementwise family goes on from there. It is for a transposed src in
/// short groups, of which the elementwise family takes one at a time.
/// @param dst_strides One a dimension of the chain's value.
/// @returns unimplemented where a kernel for all of the chain is better.
result_t make_chain_in_blocks(const chain_t &chain, const dims_t &dst_strides,
        isa_t isa, implementation_t &implementation);

} // namespace dnnl_dequant

#endif
