#ifndef PATTERNS_PATTERNS_HPP
#define PATTERNS_PATTERNS_HPP

#include "match/match.hpp"

namespace dnnl_dequant {

/// Composes the op's output value from everything that `scope` lets in.
result_t compose(const scope_t &scope, const op_record_t &op,
        composition_t &composition);

/// Composes the value that `op` has as input `index`: by its producer where
/// the scope has one that composes, else as a tensor from outside. For
/// patterns.
/// @param uses how many inputs of the ops composed here the value is
void compose_input(const scope_t &scope, const op_record_t &op, size_t index,
        composition_t &composition, int uses = 1);

/// The same, but only where a dequantize is among the ops; else false, and the
/// input is just a tensor to the op.
bool compose_dequantized(const scope_t &scope, const op_record_t &op,
        size_t index, composition_t &composition);

/// Finishes an op of a composed value and of a tensor that broadcasts to it,
/// which is input `other`.
result_t apply_tensor(step_kind_t kind, const scope_t &scope,
        const op_record_t &op, size_t other, composition_t &composition);

/// The op with all that is known of its inputs, `src` being the first, so that
/// what its schema could not check without shapes is checked now.
op_record_t with_known(
        const scope_t &scope, const op_record_t &op, const chain_t &src);

/// A step with the scales or zero points that are input `index` of `op`, which
/// has passed its schema, at their places over src's dimensions.
result_t apply_parameter(step_kind_t kind, const op_record_t &op, size_t index,
        composition_t &composition);

/// A step with values that an attribute of `op` spells out: one, or one a
/// channel along its axis.
result_t apply_constant(step_kind_t kind, const op_record_t &op,
        const std::vector<float> &values, composition_t &composition);
result_t apply_constant(step_kind_t kind, const op_record_t &op,
        const std::vector<int64_t> &values, composition_t &composition);

/// The end of a quantization as oneDNN's reorder does it: bounded to the range
/// of an integer type, NaN becoming the least of it, then rounded.
void bound_and_quantize(data_type_t type, chain_t &chain);

/// Matches the subgraph that ends in `root`: a chain of ops, or one dequantize
/// by itself. Otherwise it returns the reason. It sets match.dequantizes if a
/// refusal loses a dequantize, or another op that only we can do.
result_t match_at(
        const scope_t &scope, const op_record_t &root, match_t &match);

} // namespace dnnl_dequant

#endif
