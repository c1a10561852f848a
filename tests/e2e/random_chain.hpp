#ifndef E2E_RANDOM_CHAIN_HPP
#define E2E_RANDOM_CHAIN_HPP

#include "e2e/chain_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

/// A dequantize op of any kind, maybe behind layout ops, and up to six ops
/// behind it: TypeCast, Reorder, StaticTranspose, StaticReshape, Multiply and
/// Add with a tensor (sometimes a stock op's result), Add of a second
/// dequantized value, ReLU, Clamp; in any order and of any floating type.
/// Some values have a second consumer: an op of oneDNN's, an End, a Wildcard.
chain_graph_t random_chain(uint64_t seed);

} // namespace e2e
} // namespace dnnl_dequant

#endif
