// A product with weights that are dequantized:
//
//   [... ->] src, [... ->] weights[, bias] -> MatMul -> dst
//
// The ops behind go on with the product as the value.

#include "patterns/product.hpp"

#include "base/convert.hpp"
#include "base/text.hpp"
#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

// Swaps the last two dimensions.
void transpose(chain_t &chain) {
    std::vector<size_t> order(chain.shape().size());
    for (size_t d = 0; d < order.size(); ++d)
        order[d] = d;
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    chain.transpose(order);
}

result_t compose_factor(const scope_t &scope, const op_record_t &op,
        size_t index, composition_t &factor) {
    const bool dequantized = compose_dequantized(scope, op, index, factor);
    if (index == 1 && !dequantized)
        return refuse(op, "its weights are not dequantized");
    if (!dequantized || factor.product) {
        factor = composition_t();
        compose_outside(scope, op, index, factor);
    }
    if (index == 1 && !factor.dequantizes)
        return refuse(op, "its weights are a product themselves");
    return finish_factor(op, index, factor);
}

} // namespace

bool has_flag(const op_record_t &op, int name) {
    const auto *value = find_attribute<std::vector<uint8_t>>(op, name);
    return value != nullptr && !value->empty() && value->front() != 0;
}

result_t finish_factor(
        const op_record_t &op, size_t index, composition_t &factor) {
    chain_t &chain = factor.chain;
    const char *const name = index == 0 ? "src" : "weights";
    if (!chain.has_shape())
        return refuse(op, text("the shape of ", name, " is not known yet"));
    if (chain.shape().size() < 2)
        return refuse(op, text(name, " has shape ", dims_string(chain.shape()),
                                  "; expected two dimensions or more"));
    if (!is_result_type(chain.type()))
        return refuse(op, text(name, " is of type ", to_string(chain.type()),
                                  "; expected f32, bf16 or f16"));
    if (has_flag(op, index == 0 ? dnnl_graph_op_attr_transpose_a
                                : dnnl_graph_op_attr_transpose_b))
        transpose(chain);
    // The factors are f32, of values that the graph may have rounded.
    chain.set_type(data_type_t::f32);
    problem_t problem;
    const result_t result = chain.finish(dense_strides(chain.shape()), problem);
    return result.ok() ? result : refuse(op, result.reason, result.status);
}

result_t product_shape(const op_record_t &op, const dims_t &src,
        const dims_t &weights, dims_t &shape) {
    const auto wrong = [&](const char *expected) {
        return refuse(op,
                text("src has shape ", dims_string(src), " and weights ",
                        dims_string(weights), "; expected ", expected),
                status_t::invalid_shape);
    };
    if (src.back() != weights[weights.size() - 2])
        return wrong("as many columns of src as rows of weights");
    const dims_t &longer = src.size() < weights.size() ? weights : src;
    const dims_t &shorter = src.size() < weights.size() ? src : weights;
    const size_t more = longer.size() - shorter.size();
    shape = longer;
    for (size_t d = more; d + 2 < shape.size(); ++d) {
        if (longer[d] == 1) shape[d] = shorter[d - more];
        if (shorter[d - more] != shape[d] && shorter[d - more] != 1)
            return wrong("batches that broadcast");
    }
    shape[shape.size() - 2] = src[src.size() - 2];
    shape.back() = weights.back();
    return {};
}

result_t begin_product(const scope_t &scope, const op_record_t &op,
        std::shared_ptr<product_t> product, composition_t &composition) {
    composition.chain.begin(
            data_type_t::f32, product->shape, dense_strides(product->shape));
    composition.sources = {source_t()};
    composition.dequantizes = true;
    composition.product = std::move(product);
    if (op.inputs.size() > 2) {
        chain_t::view_t view;
        result_t result = broadcast_view(
                op, 2, scope.known(op.inputs[2]), composition.chain, view);
        if (result.ok())
            result = apply_input(step_kind_t::add, op, 2, view, composition);
        if (!result.ok()) return result;
    }
    return finish_computed_op(scope, op, composition);
}

result_t compose_matmul(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    composition_t attention;
    attention.depth = composition.depth;
    const result_t attends = compose_attention(scope, op, attention);
    if (attends.ok()) {
        composition = std::move(attention);
        return attends;
    }
    // Its second product may be ours all the same.
    if (!attends.reason.empty()) scope.log_not_fused(attends.reason);
    auto product = std::make_shared<product_t>();
    product->src.depth = product->weights.depth = composition.depth;
    result_t result = compose_factor(scope, op, 1, product->weights);
    if (result.ok()) result = compose_factor(scope, op, 0, product->src);
    if (result.ok())
        result = product_shape(op, product->src.chain.shape(),
                product->weights.chain.shape(), product->shape);
    if (!result.ok()) {
        // So that it is logged.
        composition.dequantizes = product->weights.dequantizes;
        return result;
    }
    append_ops(composition, product->src);
    append_ops(composition, product->weights);
    return begin_product(scope, op, std::move(product), composition);
}

} // namespace dnnl_dequant
