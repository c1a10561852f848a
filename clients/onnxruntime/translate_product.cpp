// MatMul and Gemm.
#include <algorithm>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

using kind_t = op_t::kind;

// ONNX's broadcast of the batches of two tensors.
dims_t batches_of(const node_t &node, const dims_t &a, const dims_t &b) {
    dims_t result;
    const size_t rank = std::max(a.size(), b.size());
    for (size_t i = 0; i + 2 < rank; ++i) {
        const size_t from_end = rank - i;
        const int64_t left = from_end > a.size() ? 1 : a[a.size() - from_end];
        const int64_t right = from_end > b.size() ? 1 : b[b.size() - from_end];
        if (left != right && left != 1 && right != 1)
            fail(node, "batches of " + std::to_string(left) + " and "
                               + std::to_string(right) + " do not broadcast.");
        result.push_back(left == 1 ? right : left);
    }
    return result;
}

// The op that dequantizes the weights, behind whatever moves them.
const node_t *dequantize_of(const value_t &weights) {
    const node_t *node = weights.producer;
    while (node != nullptr
            && (node->is("Transpose") || node->is("Reshape")
                    || node->is("Cast")))
        node = node->inputs[0]->producer;
    return node;
}

// Activations that share a scale in a product of integers. Weights decide it by
// their groups along the depth. If they have none, ONNX Runtime's number is
// taken.
constexpr int64_t default_group = 32;

int64_t group_of(const node_t &dequantize, int64_t depth) {
    const int64_t block = dequantize.int_or("block_size", 0);
    return std::min(depth, block > 0 ? block : default_group);
}

// Null where the activation stays as it is.
const node_t *quantizing_weights(
        const node_t &node, const settings_t &settings) {
    const node_t *dequantize = dequantize_of(*node.inputs[1]);
    const node_t *producer = node.inputs[0]->producer;
    const bool is_integer = producer != nullptr
                            && producer->op_type.find("DequantizeLinear")
                                       != std::string::npos;
    if (dequantize == nullptr || is_integer
            || bits_of(dequantize->inputs[0]->type()) > 8
            || node.inputs[1]->dims.size() != 2)
        return nullptr;
    return product_level(*dequantize, settings) == 4 ? dequantize : nullptr;
}

void add_bias(builder_t &builder, const node_t &node, const tensor_t &product,
        const dims_t &dims) {
    const value_t &bias = *node.inputs[2];
    builder.op(kind_t::Add, {product, builder.use(bias)},
            {builder.result(*node.outputs[0], dims)});
}

} // namespace

int product_level(const node_t &dequantize, const settings_t &settings) {
    if (settings.accuracy_level >= 0) return settings.accuracy_level;
    const int64_t block = dequantize.int_or("block_size", 0);
    const value_t &weights = *dequantize.inputs[0];
    const bool becomes_nbits
            = bits_of(weights.type()) == 4 && weights.is_constant
              && weights.dims.size() == 2 && block >= 16
              && (block & (block - 1)) == 0 && dequantize.int_or("axis", 1) == 0
              && dequantize.outputs[0]->consumers.size() == 1
              && dequantize.outputs[0]->consumers[0]->is("MatMul");
    return becomes_nbits ? settings.qdq_accuracy_level : 0;
}

bool quantizes_activation(const node_t &product, const settings_t &settings) {
    return quantizing_weights(product, settings) != nullptr;
}

int64_t rows_of(const dims_t &dims) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < dims.size(); ++i)
        rows *= dims[i];
    return rows;
}

tensor_t flat_activation(builder_t &builder, const value_t &value) {
    const dims_t dims = builder.dims(value);
    if (dims.size() <= 2 || builder.is_bound(value)) return builder.use(value);
    return builder.view(
            value, value.type(), {rows_of(dims), dims.back()}, dims_t());
}

tensor_t quantize_activation(builder_t &builder, const tensor_t &activation,
        const dims_t &dims, int64_t group) {
    const int64_t groups = (dims[1] + group - 1) / group;
    const tensor_t integers = builder.temporary(type_t::s8, dims);
    const tensor_t scales = builder.temporary(type_t::f32, {dims[0], groups});
    const tensor_t floats = builder.temporary(type_t::f32, dims);
    const dims_t shape {1, group};
    op_t &quantize = builder.op(
            op_kind::DynamicQuantizeLinear, {activation}, {integers, scales});
    quantize.set_attr<std::string>(op_t::attr::qtype, "per_group");
    quantize.set_attr<dims_t>(op_t::attr::group_shape, shape);
    op_t &dequantize = builder.op(
            kind_t::DynamicDequantize, {integers, scales}, {floats});
    dequantize.set_attr<std::string>(op_t::attr::qtype, "per_group");
    dequantize.set_attr<dims_t>(op_t::attr::group_shape, shape);
    return floats;
}

std::string product_refusal(const node_t &node) {
    for (size_t i = 0; i < 2; ++i)
        if (!is_float(node.inputs.at(i)->type()))
            return std::string("its input has type ")
                   + name_of(node.inputs[i]->element);
    if (!node.inputs[0]->has_rank || node.inputs[0]->dims.size() < 2)
        return "its first input is a vector, or of unknown rank";
    if (node.op_type != "Gemm") return std::string();
    if (node.int_or("transA", 0) != 0) return "its attribute transA is not 0";
    if (node.float_or("alpha", 1.f) != 1.f)
        return "its attribute alpha is not 1";
    const value_t *bias = node.input(2);
    if (bias == nullptr) return std::string();
    if (node.float_or("beta", 1.f) != 1.f) return "its attribute beta is not 1";
    if (!bias->is_constant) return "its third input is no constant";
    return std::string();
}

void translate_product(
        builder_t &builder, const node_t &node, const settings_t &settings) {
    const value_t &a = *node.inputs[0];
    const value_t &b = *node.inputs[1];
    const dims_t a_dims = builder.dims(a), b_dims = builder.dims(b);
    if (b_dims.size() < 2)
        fail(node, "its second input has rank " + std::to_string(b_dims.size())
                           + ", at least 2 was expected.");
    const bool transposed = node.int_or("transB", 0) != 0;
    const int64_t depth = b_dims[b_dims.size() - (transposed ? 1 : 2)];
    const int64_t columns = b_dims[b_dims.size() - (transposed ? 2 : 1)];
    if (a_dims.back() != depth)
        fail(node, "its inputs have " + std::to_string(a_dims.back())
                           + " columns and " + std::to_string(depth)
                           + " rows.");
    const bool is_flat = b_dims.size() == 2;
    tensor_t left = is_flat ? flat_activation(builder, a) : builder.use(a);
    if (const node_t *weights = quantizing_weights(node, settings))
        left = quantize_activation(builder, left, {rows_of(a_dims), depth},
                group_of(*weights, depth));
    dims_t dims = batches_of(node, a_dims, b_dims);
    dims.insert(dims.end(), {a_dims[a_dims.size() - 2], columns});
    dims_t seen = dims;
    if (is_flat && left.get_dims().size() == 2)
        seen = {rows_of(a_dims), columns};
    const bool has_bias = node.op_type == "Gemm" && node.input(2) != nullptr;
    const value_t &y = *node.outputs[0];
    const tensor_t product = has_bias ? builder.temporary(y.type(), seen)
                                      : builder.result(y, dims, seen);
    // A product of integers is one of f32, whatever ONNX says.
    const type_t type = left.get_data_type();
    const tensor_t sums
            = type == y.type() ? product : builder.temporary(type, seen);
    builder.op(kind_t::MatMul, {left, builder.use(b)}, {sums})
            .set_attr<bool>(op_t::attr::transpose_b, transposed);
    if (type != y.type()) builder.op(kind_t::TypeCast, {sums}, {product});
    if (has_bias) add_bias(builder, node, product, dims);
}

} // namespace dnnl_dequant::ort
