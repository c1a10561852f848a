// A bias, or a residual:
//
//   value, tensor -> Add -> dst             the tensor broadcasts to the value
//   value, value  -> Add -> dst             both dequantized, of one shape
//
// If both are products, or sums of two values, the first goes on; the second is
// a tensor to it.

#include "graph/logical_tensor.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

// There is no room in another's chain for it.
bool stands_alone(const composition_t &value) {
    return value.chain.has_pushed() || value.product;
}

// Appends the second value's parts to the first one's.
void append(composition_t &composition, const composition_t &other) {
    const int constants = static_cast<int>(composition.constants.size());
    for (source_t source : other.sources) {
        if (source.constant >= 0) source.constant += constants;
        composition.sources.push_back(source);
    }
    composition.constants.insert(composition.constants.end(),
            other.constants.begin(), other.constants.end());
    append_ops(composition, other);
}

} // namespace

result_t compose_add(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    composition_t second = composition;
    const bool has_first = compose_dequantized(scope, op, 0, composition);
    const bool has_second = compose_dequantized(scope, op, 1, second);
    if (!has_first && !has_second)
        return refuse(op, "neither of its inputs is dequantized");
    if (!has_first) std::swap(composition, second);
    const bool both_do = has_first && has_second && stands_alone(composition)
                         && stands_alone(second);
    if (!has_first || !has_second || both_do)
        return apply_tensor(
                step_kind_t::add, scope, op, has_first ? 1 : 0, composition);
    // A sum is the same either way round.
    if (stands_alone(second)) std::swap(composition, second);
    if (result_t result = composition.chain.add(second.chain); !result.ok())
        return refuse(op, result.reason, result.status);
    append(composition, second);
    return finish_computed_op(scope, op, composition);
}

} // namespace dnnl_dequant
