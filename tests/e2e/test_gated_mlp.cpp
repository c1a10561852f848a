// The gated MLP of oneDNN's own graphs: two products of one src, the one gating
// the other, and a product of what they give. In oneDNN's present form the
// first two give f32, which is cast before the last.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using kind = op::kind;
using t = data_type_t;

constexpr dim_t hidden = 64, inner = 96;

enum class gate_t { silu, gelu, relu };

class gated_mlp_t {
public:
    gated_mlp_t(t type, t between, gate_t gate, dim_t rows)
        : type_(type)
        , between_(between)
        , inner_shape_ {rows, inner} {
        matmul_case_t c;
        c.src = {rows, hidden};
        c.weights = {hidden, inner};
        c.group = 1;
        c.col_group = 32;
        c.type = type;
        g_ = graph_of(c);
        const size_t src = g_.nodes[1].inputs[0];
        const size_t first = output();
        g_.tensors[first].type = between;
        const size_t gated = add_gate(gate, first);
        const size_t up = add_product(src, {hidden, inner}, between);
        size_t value = add({kind::Multiply, {gated, up}, {}}, between);
        if (between != type) value = add({kind::TypeCast, {value}, {}}, type);
        add_product(value, {inner, hidden}, type);
    }

    const chain_graph_t &graph() const { return g_; }

private:
    size_t output() const { return g_.nodes.back().outputs[0]; }

    size_t add(chain_node_t node, t type) {
        node.outputs = {add_tensor(g_, type, inner_shape_)};
        g_.nodes.push_back(node);
        return output();
    }

    size_t add_gate(gate_t gate, size_t value) {
        if (gate == gate_t::gelu)
            return add({kind::GELU, {value}, {}}, between_);
        if (gate == gate_t::relu)
            return add({kind::ReLU, {value}, {}}, between_);
        const size_t sigmoid = add({kind::Sigmoid, {value}, {}}, between_);
        return add({kind::Multiply, {value, sigmoid}, {}}, between_);
    }

    // A dequantize like that of the first product's weights, and the product.
    size_t add_product(size_t src, const dims_t &weights, t type) {
        chain_node_t dequantize = g_.nodes[0];
        const dims_t parameters {weights[0], weights[1] / 32};
        dequantize.inputs = {add_tensor(g_, t::u4, weights),
                add_tensor(g_, type_, parameters),
                add_tensor(g_, t::u4, parameters)};
        dequantize.outputs = {add_tensor(g_, type_, weights)};
        g_.nodes.push_back(dequantize);
        chain_node_t product {kind::MatMul, {src, output()}, {}};
        product.outputs = {add_tensor(g_, type, {inner_shape_[0], weights[1]})};
        g_.nodes.push_back(product);
        return output();
    }

    const t type_, between_;
    const dims_t inner_shape_;
    chain_graph_t g_;
};

// Of scales so small that f16 holds what is gated.
chain_values_t small_values(const chain_graph_t &g) {
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

void check(const chain_graph_t &g, const std::vector<partition> &partitions) {
    const chain_values_t expected = small_values(g);
    const chain_values_t got = small_values(g);
    compute_exactly(g, expected);
    for (const partition &p : partitions) {
        EXPECT_TRUE(is_ours(p));
        run(g, p, got);
    }
    const support::tensor_t &dst = g.tensors[g.nodes.back().outputs[0]];
    double greatest = 0, off = 0;
    for (dim_t i = 0; i < dst.span(); ++i) {
        const double right
                = support::float_at(dst.type, expected.back().data(), i);
        ASSERT_TRUE(std::isfinite(right)) << i;
        greatest = std::max(greatest, std::fabs(right));
        off = std::max(off,
                std::fabs(right
                          - support::float_at(dst.type, got.back().data(), i)));
    }
    EXPECT_GT(greatest, 0);
    EXPECT_LE(off, greatest * std::exp2(-7));
}

void check_all(t type, t between) {
    for (const gate_t gate : {gate_t::silu, gate_t::gelu, gate_t::relu})
        for (const dim_t rows : {1, 20}) {
            const gated_mlp_t mlp(type, between, gate, rows);
            SCOPED_TRACE(to_string(mlp.graph()));
            graph built(dnnl::engine::kind::cpu);
            const auto status = status_of([&] { build(mlp.graph(), built); });
            if (status != dnnl_success && between != type)
                GTEST_SKIP() << "this oneDNN's MatMul gives src's type alone";
            ASSERT_EQ(status, dnnl_success);
            check(mlp.graph(), built.get_partitions());
        }
}

TEST(gated_mlp, of_one_type) {
    for (const t type : {t::f32, t::bf16, t::f16})
        check_all(type, type);
}

TEST(gated_mlp, of_bf16_with_f32_between) {
    check_all(t::bf16, t::f32);
}

TEST(gated_mlp, of_f16_with_f32_between) {
    check_all(t::f16, t::f32);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
