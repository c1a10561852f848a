// Transpose, Reshape and Cast, on their way from weights to a product.
#include <algorithm>
#include <cstring>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

dims_t integers_of(const value_t &constant) {
    dims_t result(constant.content.size() / sizeof(int64_t));
    std::memcpy(result.data(), constant.content.data(),
            result.size() * sizeof(int64_t));
    return result;
}

dims_t reshaped(const dims_t &dims, dims_t shape, bool keeps_zeros) {
    int64_t known = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 0 && !keeps_zeros && i < dims.size())
            shape[i] = dims[i];
        if (shape[i] != -1) known *= shape[i];
    }
    for (int64_t &dim : shape)
        if (dim == -1) dim = known == 0 ? 0 : count_of(dims) / known;
    return shape;
}

void translate_transpose(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const dims_t dims = builder.dims(x);
    dims_t order(dims.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<int64_t>(order.size() - 1 - i);
    const auto found = node.int_lists.find("perm");
    if (found != node.int_lists.end()) order = found->second;
    if (order.size() != dims.size())
        fail(node, "perm has " + std::to_string(order.size())
                           + " entries for a tensor of rank "
                           + std::to_string(dims.size()) + ".");
    dims_t result;
    for (const int64_t axis : order)
        result.push_back(dims.at(static_cast<size_t>(axis)));
    builder.op(op_t::kind::StaticTranspose, {builder.use(x)},
                   {builder.result(*node.outputs[0], result)})
            .set_attr<dims_t>(op_t::attr::order, order);
}

void translate_reshape(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const dims_t dims = builder.dims(x);
    const dims_t shape = reshaped(dims, integers_of(*node.inputs[1]),
            node.int_or("allowzero", 0) != 0);
    if (count_of(shape) != count_of(dims))
        fail(node, "the new shape has " + std::to_string(count_of(shape))
                           + " elements, the old one "
                           + std::to_string(count_of(dims)) + ".");
    op_t &op = builder.op(op_t::kind::StaticReshape, {builder.use(x)},
            {builder.result(*node.outputs[0], shape)});
    op.set_attr<dims_t>(op_t::attr::shape, shape);
    op.set_attr<bool>(op_t::attr::special_zero, false);
}

void translate_cast(builder_t &builder, const node_t &node) {
    const value_t &x = *node.inputs[0];
    const tensor_t tensor = builder.use(x);
    builder.op(op_t::kind::TypeCast, {tensor},
            {builder.result(
                    *node.outputs[0], builder.dims(x), tensor.get_dims())});
}

} // namespace dnnl_dequant::ort
