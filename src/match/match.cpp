#include "match/match.hpp"

#include "base/convert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

const char *to_string(partition_kind_t kind) {
    switch (kind) {
    case partition_kind_t::dequantize: return "dequantize";
    case partition_kind_t::quantize: return "quantize";
    case partition_kind_t::chain: return "chain";
    case partition_kind_t::matmul: return "matmul";
    case partition_kind_t::attention: return "attention";
    case partition_kind_t::compound: return "compound";
    case partition_kind_t::onednn: return "onednn";
    }
    return "unknown";
}

void scope_t::log_not_fused(const std::string &reason) const {
    log_refusal(log_dispatch, "fuse", reason);
}

result_t refuse(
        const op_record_t &op, const std::string &why, status_t status) {
    return {status, describe(op) + ": " + why};
}

dims_t strides_or_dense(const logical_tensor_t &tensor) {
    return has_strides(tensor) ? strides_of(tensor)
                               : dense_strides(dims_of(tensor));
}

namespace {

// Calls use(source) for each operand of a composition, from `first` on, and of
// its product.
template <typename use_t>
void for_each_operand(
        const composition_t &composition, size_t first, const use_t &use);

template <typename use_t>
void for_each_operand(const attention_t &attention, const use_t &use) {
    for_each_operand(attention.query, 0, use);
    for_each_operand(attention.keys, 0, use);
    for (const score_part_t &part : attention.parts) {
        for_each_operand(part.steps, 1, use);
        const score_mask_t &mask = part.mask;
        if (mask.kind == score_mask_t::kind_t::none) continue;
        if (mask.kind == score_mask_t::kind_t::tensor)
            use(source_t {mask.condition, -1});
        use(source_t {mask.fill, -1});
        for (const score_mask_t::offset_t &offset : mask.offsets)
            use(source_t {offset.tensor, -1});
    }
}

template <typename use_t>
void for_each_operand(
        const composition_t &composition, size_t first, const use_t &use) {
    for (size_t i = first; i < composition.sources.size(); ++i)
        use(composition.sources[i]);
    if (!composition.product) return;
    const product_t &product = *composition.product;
    if (product.attention) for_each_operand(*product.attention, use);
    for_each_operand(product.src, 0, use);
    for_each_operand(product.weights, 0, use);
}

} // namespace

size_t tensor_count(const composition_t &composition) {
    size_t count = 0;
    for_each_operand(composition, 0, [&](const source_t &) { ++count; });
    return count;
}

bool is_operand(const composition_t &composition, size_t tensor) {
    const size_t first = composition.product ? 1 : 0; // the product itself
    bool found = false;
    for_each_operand(composition, first, [&](const source_t &source) {
        found |= source.constant < 0 && source.tensor == tensor;
    });
    return found;
}

void append_ops(composition_t &composition, const composition_t &other) {
    const auto join = [](auto &to, const auto &from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    join(composition.ops, other.ops);
    join(composition.must_be_zero, other.must_be_zero);
}

void compose_outside(const scope_t &scope, const op_record_t &op, size_t index,
        composition_t &composition) {
    const logical_tensor_t tensor = scope.known(op.inputs[index]);
    if (has_shape(tensor))
        composition.chain.begin(
                type_of(tensor), dims_of(tensor), strides_or_dense(tensor));
    else composition.chain.begin_unknown(type_of(tensor));
    composition.sources = {{tensor.id, -1}};
}

result_t apply_input(step_kind_t kind, const op_record_t &op, size_t index,
        const chain_t::view_t &view, composition_t &composition) {
    if (result_t result = composition.chain.apply(kind, view); !result.ok())
        return refuse(op, result.reason, result.status);
    composition.sources.push_back({op.inputs[index].id, -1});
    return {};
}

result_t check_blocks(const composition_t &composition) {
    if (!composition.product) return {};
    chain_t chain = composition.chain;
    // Blocks are different threads'.
    if (bits_of(chain.type()) < 8)
        return {status_t::unimplemented, "elements that share a byte"};
    // No two dimensions lie in memory like one.
    dims_t strides;
    for (size_t d = 0; d < chain.shape().size(); ++d)
        strides.push_back(static_cast<dim_t>(d) + 1);
    chain.place_dst(strides);
    return chain.order_by_first(composition.product->shape);
}

result_t finish_op(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    const logical_tensor_t output = scope.known(op.outputs[0]);
    chain_t &chain = composition.chain;
    const bool is_attention
            = composition.product && composition.product->attention;
    // No kernel of attention takes all of them.
    if (tensor_count(composition)
            > (is_attention ? max_operands : max_chain_operands))
        return refuse(op, "too many tensors for one kernel");
    if (type_of(output) != chain.type()) {
        if (!is_result_type(type_of(output)))
            return refuse(op,
                    text("its output is of type ", to_string(type_of(output)),
                            "; expected f32, bf16 or f16"));
        chain.set_type(type_of(output));
    }
    if (has_shape(output) && chain.has_shape()
            && dims_of(output) != chain.shape())
        return refuse(op,
                text("its output has shape ", shape_string(output),
                        "; expected ", dims_string(chain.shape())),
                status_t::invalid_shape);
    if (result_t result = check_blocks(composition); !result.ok())
        return refuse(op, "of a product, " + result.reason, result.status);
    composition.ops.push_back(&op);
    return {};
}

result_t finish_computed_op(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    composition.chain.set_type(type_of(op.outputs[0]));
    return finish_op(scope, op, composition);
}

result_t broadcast_view(const op_record_t &op, size_t index,
        const logical_tensor_t &tensor, const chain_t &chain,
        chain_t::view_t &view) {
    const auto wrong = [&](const std::string &what) {
        return refuse(op,
                text("input ", index, " has shape ", shape_string(tensor),
                        "; expected ", what),
                status_t::invalid_shape);
    };
    if (!chain.has_shape() || !has_shape(tensor))
        return refuse(op, "shapes are not known yet");
    const dims_t &shape = chain.shape();
    const dims_t dims = dims_of(tensor), strides = strides_or_dense(tensor);
    if (dims.size() > shape.size())
        return wrong(text("at most rank ", shape.size()));
    view.type = type_of(tensor);
    view.along.assign(shape.size(), {});
    const size_t offset = shape.size() - dims.size();
    for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == 1) continue;
        if (dims[d] != shape[offset + d])
            return wrong(text("one that broadcasts to ", dims_string(shape)));
        view.along[offset + d].stride = strides[d];
    }
    return {};
}

} // namespace dnnl_dequant
