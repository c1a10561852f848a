#include "e2e/gated_mlp.hpp"

#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

namespace {

using kind = op::kind;
using t = data_type_t;

class builder_t {
public:
    explicit builder_t(const gated_mlp_t &mlp)
        : mlp_(mlp)
        , inner_shape_ {mlp.rows, mlp.inner} {
        matmul_case_t c;
        c.src = {mlp.rows, mlp.hidden};
        c.weights = {mlp.hidden, mlp.inner};
        c.group = 1;
        c.col_group = 32;
        c.type = mlp.type;
        g_ = graph_of(c);
        const size_t src = g_.nodes[1].inputs[0];
        const size_t first = output();
        g_.tensors[first].type = mlp.between;
        const size_t gated = add_gate(first);
        const size_t up
                = add_product(src, {mlp.hidden, mlp.inner}, mlp.between);
        size_t value = add({kind::Multiply, {gated, up}, {}}, mlp.between);
        if (mlp.between != mlp.type)
            value = add({kind::TypeCast, {value}, {}}, mlp.type);
        add_product(value, {mlp.inner, mlp.hidden}, mlp.type);
    }

    chain_graph_t take() { return std::move(g_); }

private:
    size_t output() const { return g_.nodes.back().outputs[0]; }

    size_t add(chain_node_t node, t type) {
        node.outputs = {add_tensor(g_, type, inner_shape_)};
        g_.nodes.push_back(node);
        return output();
    }

    size_t add_gate(size_t value) {
        if (mlp_.gate == gate_t::gelu)
            return add({kind::GELU, {value}, {}}, mlp_.between);
        if (mlp_.gate == gate_t::relu)
            return add({kind::ReLU, {value}, {}}, mlp_.between);
        const size_t sigmoid = add({kind::Sigmoid, {value}, {}}, mlp_.between);
        return add({kind::Multiply, {value, sigmoid}, {}}, mlp_.between);
    }

    // A dequantize like that of the first product's weights, and the product.
    size_t add_product(size_t src, const dims_t &weights, t type) {
        chain_node_t dequantize = g_.nodes[0];
        const dims_t parameters {weights[0], weights[1] / 32};
        dequantize.inputs = {add_tensor(g_, t::u4, weights),
                add_tensor(g_, mlp_.type, parameters),
                add_tensor(g_, t::u4, parameters)};
        dequantize.outputs = {add_tensor(g_, mlp_.type, weights)};
        g_.nodes.push_back(dequantize);
        chain_node_t product {kind::MatMul, {src, output()}, {}};
        product.outputs = {add_tensor(g_, type, {mlp_.rows, weights[1]})};
        g_.nodes.push_back(product);
        return output();
    }

    const gated_mlp_t mlp_;
    const dims_t inner_shape_;
    chain_graph_t g_;
};

} // namespace

chain_graph_t graph_of(const gated_mlp_t &mlp) {
    return builder_t(mlp).take();
}

chain_values_t gated_values(const chain_graph_t &g) {
    chain_values_t values = exact_values(g, 3);
    for (const chain_node_t &node : g.nodes) {
        if (!dequantizes(node)) continue;
        const support::tensor_t &scales = g.tensors[node.inputs[1]];
        void *const data = values[node.inputs[1]].data();
        for (dim_t i = 0; i < scales.span(); ++i)
            support::put_bits(scales.type, data, i,
                    support::round_to(support::format_of(scales.type),
                            support::float_at(scales.type, data, i) / 64));
    }
    return values;
}

} // namespace e2e
} // namespace dnnl_dequant
