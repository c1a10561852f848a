#ifndef PATTERNS_PRODUCT_HPP
#define PATTERNS_PRODUCT_HPP

#include <functional>

#include "patterns/patterns.hpp"

namespace dnnl_dequant {

/// An attribute of `op` that is a flag; false where it is absent.
bool has_flag(const op_record_t &op, int name);

/// Finishes a factor of a MatMul, its input `index`. Transposes it if the op
/// says so and makes it f32, of the value that the graph has rounded. Refuses a
/// factor that cannot be multiplied.
result_t finish_factor(
        const op_record_t &op, size_t index, composition_t &factor);

/// The shape of a MatMul's result, batches broadcast.
result_t product_shape(const op_record_t &op, const dims_t &src,
        const dims_t &weights, dims_t &shape);

/// Begins with a MatMul's result as the value, adds its bias where it has one,
/// and gives it its type.
result_t begin_product(const scope_t &scope, const op_record_t &op,
        std::shared_ptr<product_t> product, composition_t &composition);

/// Attention: a MatMul of a SoftMax of scores, which are another MatMul's, by
/// values. Keys or values, at least, are dequantized. A reason only where it is
/// attention that cannot be composed.
result_t compose_attention(const scope_t &scope, const op_record_t &op,
        composition_t &composition);

/// Finds what makes Select's condition of the indices of rows and tokens, of
/// which the last op is `compares`, a GreaterEqual.
/// @param is_score Tells tensors that are scores.
/// @param ops Output: appends the ops, producers before consumers.
result_t match_causal_mask(const scope_t &scope, const op_record_t &compares,
        size_t scores_rank, const std::function<bool(size_t)> &is_score,
        score_mask_t &mask, std::vector<const op_record_t *> &ops);

} // namespace dnnl_dequant

#endif
