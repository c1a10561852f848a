// dequantize(weights) -> MatMul -> ... as one partition: the formula's bits
// where sums are exact, and close to a double's where they are not.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;

partition only_partition(const chain_graph_t &g) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    const auto partitions = built.get_partitions();
    EXPECT_EQ(partitions.size(), 1u);
    EXPECT_TRUE(is_ours(partitions[0]));
    return partitions[0];
}

void expect_bits(const chain_graph_t &g, const chain_values_t &expected,
        const chain_values_t &got) {
    const size_t dst = g.nodes.back().outputs[0];
    EXPECT_TRUE(got[dst].intact());
    EXPECT_EQ(support::difference(g.tensors[dst].type, expected[dst].data(),
                      got[dst].data(), g.tensors[dst].span()),
            "");
}

void check_exact(const chain_graph_t &g, uint64_t seed) {
    const chain_values_t expected = exact_values(g, seed);
    const chain_values_t got = exact_values(g, seed);
    compute_exactly(g, expected);
    const std::string kernel = run(g, only_partition(g), got);
    EXPECT_NE(kernel.find("matmul"), std::string::npos) << kernel;
    expect_bits(g, expected, got);
}

struct shapes_t {
    dims_t src, weights;
};

const std::vector<shapes_t> &all_shapes() {
    static const std::vector<shapes_t> shapes {
            {{1, 1}, {1, 1}},
            {{3, 0}, {0, 5}},
            {{0, 4}, {4, 5}},
            {{3, 8}, {8, 5}},
            {{1, 64}, {64, 130}},
            {{7, 33}, {33, 65}},
            {{13, 40}, {40, 17}},
            {{1, 300}, {300, 700}},
            {{2, 3, 24}, {24, 19}},
            {{2, 3, 24}, {1, 24, 19}},
            {{3, 2, 16}, {3, 16, 9}},
            {{2, 2, 5, 12}, {2, 1, 12, 7}},
            {{1, 40}, {40, 128}},
            {{2, 24}, {24, 256}},
            {{2, 4, 20}, {20, 384}},
            {{1, 11, 50}, {50, 128}},
            {{530, 9}, {9, 66}},
            {{3, 250, 6}, {6, 66}},
    };
    return shapes;
}

TEST(matmul, is_the_formula_where_sums_are_exact) {
    dim_t n = 0;
    for (const shapes_t &shapes : all_shapes())
        for (const t quantized : {t::u4, t::s4, t::u8, t::s8})
            for (const t zps : {t::undef, t::u8, t::s4})
                for (const t type : {t::f32, t::bf16, t::f16})
                    for (const dim_t group : {0, -1, 8, 6})
                        for (int flags = 0; flags < 16; ++flags) {
                            matmul_case_t c;
                            c.src = shapes.src;
                            c.weights = shapes.weights;
                            c.quantized = quantized;
                            c.zps = zps;
                            c.type = type;
                            c.group = group;
                            c.transpose_a = flags & 1;
                            c.transpose_b = flags & 2;
                            c.dense = flags & 4;
                            c.bias = flags & 8;
                            c.seed = support::first_seed()
                                     + static_cast<uint64_t>(n);
                            const dim_t depth = c.weights[c.weights.size() - 2];
                            if (group > depth) continue;
                            if (n++ % (67 * support::every())) continue;
                            SCOPED_TRACE(to_string(c));
                            check_exact(graph_of(c), c.seed);
                            if (testing::Test::HasFailure()) return;
                        }
}

// dequantize -> [ops on the weights] -> MatMul -> [ops on the product]
chain_graph_t with(chain_graph_t g, chain_node_t node, data_type_t type,
        const dims_t &shape, const std::vector<size_t> &more = {}) {
    node.inputs = {g.nodes.back().outputs[0]};
    node.inputs.insert(node.inputs.end(), more.begin(), more.end());
    node.outputs = {add_tensor(g, type, shape)};
    g.nodes.push_back(node);
    return g;
}

TEST(matmul, takes_what_follows) {
    matmul_case_t c;
    c.src = {2, 5, 24};
    c.weights = {24, 128};
    c.group = 8;
    const dims_t shape {2, 5, 128};
    const chain_graph_t product = graph_of(c);
    chain_graph_t g = product;
    const size_t residual = add_tensor(g, t::f32, shape);
    g = with(g, {op::kind::Add, {}, {}}, t::f32, shape, {residual});
    check_exact(g, 3);
    g = with(g, {op::kind::ReLU, {}, {}}, t::f32, shape);
    check_exact(g, 4);
    const size_t factor = add_tensor(g, t::f32, {128});
    g = with(g, {op::kind::Multiply, {}, {}}, t::f32, shape, {factor});
    check_exact(g, 5);
    g = with(g, {op::kind::TypeCast, {}, {}}, t::bf16, shape);
    check_exact(g, 6);
}

// A product's sums are f32, a term after the other: no worse than the rounding
// of each.
TEST(matmul, is_near_where_sums_are_rounded) {
    for (const t quantized : {t::u4, t::s8})
        for (const t type : {t::f32, t::bf16})
            for (const dim_t rows : {1, 4, 9, 40}) {
                matmul_case_t c;
                c.src = {rows, 512};
                c.weights = {512, 256};
                c.quantized = quantized;
                c.type = type;
                c.group = 64;
                SCOPED_TRACE(to_string(c));
                const chain_graph_t g = graph_of(c);
                const auto values = initial_values(
                        g, support::values_t::ordinary, support::first_seed());
                run(g, only_partition(g), values);
                compute(g, 0, values);
                const auto &dst = g.tensors.back();
                for_each_product(g, 1, values, [&](const sum_t &sum) {
                    const double got = support::float_at(
                            dst.type, values.back().data(), sum.element);
                    const double bits = dst.type == t::f32 ? 24 : 8;
                    EXPECT_LE(std::fabs(got - sum.sum),
                            sum.magnitude * std::exp2(-18)
                                    + std::fabs(sum.sum) * std::exp2(-bits));
                });
                if (HasFailure()) return;
            }
}

size_t ours_of(const std::vector<partition> &partitions) {
    size_t count = 0;
    for (const partition &p : partitions)
        count += is_ours(p);
    return count;
}

std::vector<partition> partitions_of(const chain_graph_t &g,
        partition::policy policy = partition::policy::fusion) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    return built.get_partitions(policy);
}

TEST(matmul, is_not_fused_where_it_must_not_be) {
    const chain_graph_t product = graph_of(matmul_case_t());
    EXPECT_EQ(partitions_of(product, partition::policy::debug).size(), 2u);

    // The weights have another use.
    chain_graph_t shared = product;
    chain_node_t cast {op::kind::TypeCast, {product.nodes[0].outputs[0]}, {}};
    cast.outputs = {add_tensor(shared, t::bf16, {8, 5})};
    shared.nodes.push_back(cast);
    EXPECT_EQ(partitions_of(shared).size(), 3u);
    EXPECT_EQ(ours_of(partitions_of(shared)), 1u);

    // Nothing is dequantized.
    chain_graph_t plain = product;
    plain.nodes.erase(plain.nodes.begin());
    EXPECT_EQ(ours_of(partitions_of(plain)), 0u);

    // A product's elements are not moved.
    const chain_graph_t moved = with(product,
            {op::kind::StaticTranspose, {}, {}, {1, 0}}, t::f32, {5, 3});
    EXPECT_EQ(partitions_of(moved).size(), 2u);
}

TEST(matmul, takes_weights_through_layout_ops) {
    matmul_case_t c;
    c.src = {3, 24};
    c.weights = {24, 10};
    c.transpose_b = true;
    chain_graph_t g = graph_of(c);
    // [10, 24] -> transposed to [24, 10] before the product instead
    chain_node_t matmul = g.nodes.back();
    g.nodes.pop_back();
    g = with(g, {op::kind::StaticTranspose, {}, {}, {1, 0}}, t::f32, {24, 10});
    matmul.transpose_b = false;
    matmul.inputs[1] = g.nodes.back().outputs[0];
    g.nodes.push_back(matmul);
    check_exact(g, 7);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
