// ONNX Runtime's dynamic quantization makes these of MatMul, as one or more
// products of one activation:
//     DynamicQuantizeLinear(x) -> xq, xs, xz
//     MatMulInteger(xq, wq, xz, wz) -> Cast -> Mul(Mul(xs, ws))
//     -> {Add, Relu, ...}*
// In the graph both factors are dequantized, which has the same sums.
#include <algorithm>

#include "forms.hpp"
#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

struct product_t {
    const node_t *multiply = nullptr, *cast = nullptr, *scales = nullptr,
                 *rescale = nullptr;
};

bool may_anchor(const node_t &node) {
    return node.is("DynamicQuantizeLinear") && node.input(0) != nullptr
           && node.outputs.size() == 3 && node.outputs[0] != nullptr
           && std::any_of(node.outputs.begin(), node.outputs.end(),
                   [](const value_t *value) {
        return value != nullptr && !value->consumers.empty()
               && value->consumers[0]->is("MatMulInteger");
    });
}

const value_t *other_input(const node_t &node, const value_t *one) {
    return node.inputs[0] == one ? node.inputs[1] : node.inputs[0];
}

// The product that `multiply` begins; `why` says what does not fit.
product_t product_of(
        const node_t &quantize, const node_t &multiply, std::string &why) {
    product_t result;
    result.multiply = &multiply;
    const value_t *weights = multiply.input(1);
    if (!multiply.is("MatMulInteger")
            || multiply.inputs[0] != quantize.outputs[0]
            || multiply.input(2) != quantize.outputs[2]) {
        why = "its result is used by " + multiply.title();
    } else if (!weights->is_constant || weights->dims.size() != 2) {
        why = multiply.title() + ": its weights are no constant matrix";
    } else {
        result.cast = only_use(*multiply.outputs[0]);
        if (result.cast == nullptr || !result.cast->is("Cast")
                || result.cast->outputs[0]->type() != type_t::f32)
            why = multiply.title() + ": no Cast to float follows";
    }
    if (!why.empty()) return result;
    result.rescale = only_use(*result.cast->outputs[0]);
    if (result.rescale == nullptr || !result.rescale->is("Mul")) {
        why = multiply.title() + ": no Mul by the scales follows";
        return result;
    }
    const value_t *factor
            = other_input(*result.rescale, result.cast->outputs[0]);
    result.scales = factor->producer;
    const bool fits
            = result.scales != nullptr && result.scales->is("Mul")
              && only_use(*factor) == result.rescale
              && (result.scales->inputs[0] == quantize.outputs[1]
                      || result.scales->inputs[1] == quantize.outputs[1]);
    if (!fits) why = multiply.title() + ": its scales are not multiplied first";
    return result;
}

const value_t *scale_of(const node_t &quantize, const product_t &product) {
    return other_input(*product.scales, quantize.outputs[1]);
}

std::string weights_refusal(const node_t &quantize, const product_t &product) {
    const value_t *scale = scale_of(quantize, product);
    const value_t &weights = *product.multiply->inputs[1];
    const value_t *zps = product.multiply->input(3);
    const int64_t columns = weights.dims[1];
    if (!scale->is_constant || scale->type() != type_t::f32
            || (count_of(scale->dims) != 1 && count_of(scale->dims) != columns))
        return "the scales of its weights are no constant, one for all or one "
               "a column";
    if (zps != nullptr
            && (!zps->is_constant
                    || (count_of(zps->dims) != 1
                            && count_of(zps->dims) != columns)))
        return "the zero points of its weights are no constant, one for all or "
               "one a column";
    return std::string();
}

bool is_outside(const claim_t &claim, const value_t *value) {
    return value->is_output
           || std::any_of(value->consumers.begin(), value->consumers.end(),
                   [&](const node_t *user) {
        return std::find(claim.nodes.begin(), claim.nodes.end(), user)
               == claim.nodes.end();
    });
}

std::string match(const node_t &anchor, claim_t &claim) {
    claim.nodes = {&anchor};
    if (!anchor.inputs[0]->has_rank || anchor.inputs[0]->dims.size() < 2)
        return "its input is a vector, or of unknown rank";
    for (const node_t *user : anchor.outputs[0]->consumers) {
        std::string why;
        const product_t product = product_of(anchor, *user, why);
        if (why.empty()) why = weights_refusal(anchor, product);
        if (!why.empty()) return why;
        claim.nodes.insert(
                claim.nodes.end(), {product.multiply, product.cast,
                                           product.scales, product.rescale});
        append_elementwise(claim, *product.rescale->outputs[0]);
    }
    for (const value_t *value : anchor.outputs)
        if (is_outside(claim, value))
            return "its quantized values have other uses";
    return std::string();
}

tensor_t dequantized_weights(
        builder_t &builder, const node_t &quantize, const product_t &product) {
    const value_t &weights = *product.multiply->inputs[1];
    const value_t &scale = *scale_of(quantize, product);
    const value_t *zps = product.multiply->input(3);
    const int64_t columns = weights.dims[1];
    // Both one for all, or both one a column, by a stride of 0 where need be.
    const bool is_single = count_of(scale.dims) == 1
                           && (zps == nullptr || count_of(zps->dims) == 1);
    const auto spread = [&](const value_t &value) {
        const int64_t stride = count_of(value.dims) == 1 ? 0 : 1;
        return is_single
                       ? builder.view(value, value.type(), {1}, {})
                       : builder.view(value, value.type(), {columns}, {stride});
    };
    std::vector<tensor_t> inputs {builder.use(weights), spread(scale)};
    if (zps != nullptr) inputs.push_back(spread(*zps));
    const tensor_t floats = builder.temporary(type_t::f32, weights.dims);
    builder.op(op_kind::DequantizeLinear, inputs, {floats})
            .set_attr<int64_t>(op_t::attr::axis, is_single ? 0 : 1);
    return floats;
}

// x, quantized, with two dimensions: integers, scale, zero point.
std::vector<tensor_t> quantized_activation(
        builder_t &builder, const node_t &quantize, const dims_t &dims) {
    const std::vector<tensor_t> result {builder.temporary(type_t::u8, dims),
            builder.temporary(type_t::f32, {1}),
            builder.temporary(type_t::u8, {1})};
    builder.op(op_kind::DynamicQuantizeLinear,
                   {flat_activation(builder, *quantize.inputs[0])}, result)
            .set_attr<std::string>(op_t::attr::qtype, "per_tensor");
    return result;
}

// Every product has a dequantize of its own: one that several share stays
// outside of their partitions, which then multiply floats.
tensor_t dequantized_activation(builder_t &builder,
        const std::vector<tensor_t> &quantized, const dims_t &dims) {
    const tensor_t floats = builder.temporary(type_t::f32, dims);
    builder.op(op_kind::DequantizeLinear, quantized, {floats})
            .set_attr<int64_t>(op_t::attr::axis, 0);
    return floats;
}

void build(
        const claim_t &claim, const settings_t &settings, builder_t &builder) {
    const node_t &quantize = **std::find_if(
            claim.nodes.begin(), claim.nodes.end(), [](const node_t *node) {
        return node->is("DynamicQuantizeLinear");
    });
    dims_t dims = builder.dims(*quantize.inputs[0]);
    const int64_t rows = rows_of(dims), depth = dims.back();
    const auto left = quantized_activation(builder, quantize, {rows, depth});
    for (const node_t *user : quantize.outputs[0]->consumers) {
        std::string why;
        const product_t product = product_of(quantize, *user, why);
        const dims_t &weights = product.multiply->inputs[1]->dims;
        if (weights[0] != depth)
            fail(*user, "its inputs have " + std::to_string(depth)
                                + " columns and " + std::to_string(weights[0])
                                + " rows.");
        dims.back() = weights[1];
        builder.op(op_t::kind::MatMul,
                {dequantized_activation(builder, left, {rows, depth}),
                        dequantized_weights(builder, quantize, product)},
                {builder.result(*product.rescale->outputs[0], dims,
                        {rows, weights[1]})});
        claim_t behind;
        append_elementwise(behind, *product.rescale->outputs[0]);
        build_by_nodes(behind, settings, builder);
    }
}

// The plugin repacks no weights from this number of rows on, and ONNX Runtime,
// which always does, is faster.
constexpr int64_t most_rows = 48;

std::string slower(const claim_t &claim, const settings_t &) {
    for (const node_t *node : claim.nodes) {
        if (!node->is("DynamicQuantizeLinear")) continue;
        const dims_t &dims = node->inputs[0]->dims;
        const bool is_known = std::all_of(
                dims.begin(), dims.end(), [](int64_t dim) { return dim > 0; });
        if (is_known && rows_of(dims) <= most_rows) return std::string();
    }
    return "its number of rows is unknown, or above "
           + std::to_string(most_rows);
}

} // namespace

const form_t integer_product_form {
        "product of integers", may_anchor, match, build, slower};

} // namespace dnnl_dequant::ort
