#ifndef E2E_RANDOM_CHAIN_HPP
#define E2E_RANDOM_CHAIN_HPP

#include "e2e/chain_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

/// Makes a dequantize op of any kind, maybe behind layout ops, and up to six
/// ops behind it, in any order and of any floating type. They are TypeCast,
/// Reorder, StaticTranspose, StaticReshape, Multiply and Add with a tensor
/// (sometimes a stock op's result), Add of a second dequantized value, ReLU,
/// Clamp, and Quantize with Dequantize. Some values have a second consumer: an
/// op of oneDNN's, an End, a Wildcard.
chain_graph_t random_chain(uint64_t seed);

/// The ops behind a value: one, or a Quantize and a Dequantize.
enum class chain_step_t {
    cast,
    reorder,
    transpose,
    reshape,
    multiply,
    add,
    residual,
    activation,
    requantize
};
constexpr size_t chain_step_count = 9;
constexpr size_t dequantize_kind_count = 4;

/// One chain of the product: a dequantize op, by number, and what follows it,
/// all else by `seed`; nothing in it has a second consumer.
chain_graph_t chain_of(size_t dequantize,
        const std::vector<chain_step_t> &steps, uint64_t seed);

} // namespace e2e
} // namespace dnnl_dequant

#endif
