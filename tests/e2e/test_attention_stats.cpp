// SoftMax's second output, the Stats, which leaves attention before its result
// does. A partition that needs what others make of Stats would wait for itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "e2e/attention_graph.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using kind = op::kind;

attention_case_t small_attention() {
    attention_case_t c;
    c.keys.zps = c.values.zps = t::s8;
    c.scale = extent_t::one;
    return c;
}

// Adds an op whose output is a new f32 tensor.
size_t add(attention_graph_t &g, kind which, const std::vector<size_t> &inputs,
        const dims_t &dims) {
    g.ops.tensors.push_back({t::f32, dims, support::dense_strides(dims)});
    g.roles.push_back(role_t::inner);
    g.ops.nodes.push_back({which, inputs, {g.roles.size() - 1}});
    return g.roles.size() - 1;
}

// The graph of a case whose SoftMax has Stats, which is its last tensor.
attention_graph_t graph_with_stats(const attention_case_t &c) {
    attention_graph_t g = graph_of(c);
    const size_t weights = g.ops.nodes[g.weights].outputs[0];
    dims_t dims = g.ops.tensors[weights].dims;
    dims.back() = 1;
    g.ops.tensors.push_back({t::f32, dims, support::dense_strides(dims)});
    g.roles.push_back(role_t::inner);
    g.ops.nodes[g.weights].outputs.push_back(g.roles.size() - 1);
    return g;
}

bool has_stats() {
    const attention_graph_t g = graph_with_stats(small_attention());
    const bool has = status_of([&] {
        graph built(dnnl::engine::kind::cpu);
        build(g.ops, built);
    }) == dnnl_success;
    if (!has) std::cout << "left out: this oneDNN's SoftMax has no Stats\n";
    return has;
}

bool contains(const std::vector<logical_tensor> &ports, size_t tensor) {
    return std::any_of(
            ports.begin(), ports.end(), [tensor](const logical_tensor &port) {
        return port.get_id() == tensor;
    });
}

// Executes partitions as soon as nothing that others give is missing. Returns
// those that wait for each other.
std::vector<partition> execute(const attention_graph_t &g,
        std::vector<partition> partitions, const chain_values_t &values) {
    const auto is_ready = [&](const partition &p) {
        const auto needed = p.get_input_ports();
        return std::none_of(partitions.begin(), partitions.end(),
                [&](const partition &other) {
            const auto given = other.get_output_ports();
            return std::any_of(given.begin(), given.end(),
                    [&](const logical_tensor &port) {
                return contains(needed, port.get_id());
            });
        });
    };
    while (!partitions.empty()) {
        const auto ready
                = std::find_if(partitions.begin(), partitions.end(), is_ready);
        if (ready == partitions.end()) break;
        run(g.ops, *ready, values);
        partitions.erase(ready);
    }
    return partitions;
}

// All partitions can be executed, one of ours takes SoftMax, or none, and what
// they give is right. Returns how many there are.
size_t expect_right(const attention_case_t &c, const attention_graph_t &g,
        bool takes_softmax) {
    graph built(dnnl::engine::kind::cpu);
    build(g.ops, built);
    const auto partitions = built.get_partitions();
    bool is_taken = false;
    for (const partition &p : partitions) {
        const auto ops = p.get_ops();
        is_taken |= is_ours(p)
                    && std::count(ops.begin(), ops.end(), g.weights) != 0;
    }
    EXPECT_EQ(is_taken, takes_softmax);
    const chain_values_t values = values_of(c, g);
    const auto waiting = execute(g, partitions, values);
    EXPECT_TRUE(waiting.empty()) << waiting.size() << " wait for each other";
    EXPECT_EQ(
            difference(c, g, answer_of(g, values), values[g.dst()].data()), "");
    return partitions.size();
}

TEST(attention_stats, are_those_of_the_scores) {
    if (!has_stats()) GTEST_SKIP() << "this oneDNN's SoftMax has no Stats";
    for (const dim_t rows : {1, 40})
        for (const dim_t tokens : {5, 600}) {
            attention_case_t c = small_attention();
            c.rows = rows;
            c.tokens = tokens;
            const attention_graph_t g = graph_with_stats(c);
            const chain_values_t values = values_of(c, g);
            run(g.ops, only_partition(g.ops), values);
            const size_t stats = g.roles.size() - 1;
            const auto answer = answer_of(g, values).stats;
            const auto got
                    = numbers_of(g.ops.tensors[stats], values[stats].data());
            ASSERT_EQ(got.size(), answer.size());
            for (size_t i = 0; i < got.size(); ++i)
                EXPECT_NEAR(got[i], answer[i], 1e-4) << to_string(c);
        }
}

// Stats multiply the result, or what another op makes of them does.
TEST(attention_stats, that_multiply_its_result_make_no_cycle) {
    if (!has_stats()) GTEST_SKIP() << "this oneDNN's SoftMax has no Stats";
    const attention_case_t c = small_attention();
    for (const bool is_direct : {true, false}) {
        attention_graph_t g = graph_with_stats(c);
        size_t factor = g.roles.size() - 1;
        const size_t product = g.ops.nodes[g.product].outputs[0];
        const dims_t dims = g.ops.tensors[product].dims;
        if (!is_direct)
            factor = add(g, kind::Exp, {factor}, g.ops.tensors[factor].dims);
        add(g, kind::Multiply, {product, factor}, dims);
        g.last = g.ops.nodes.size() - 1;
        EXPECT_GE(expect_right(c, g, true), 2u);
    }
}

// Values that are made of Stats wait for them, and the result for values.
TEST(attention_stats, that_give_values_are_left) {
    if (!has_stats()) GTEST_SKIP() << "this oneDNN's SoftMax has no Stats";
    attention_case_t c = small_attention();
    c.rows = 1;
    attention_graph_t g = graph_with_stats(c);
    const size_t stats = g.roles.size() - 1;
    const size_t values = g.ops.nodes[g.product].inputs[1];
    const size_t factor = add(g, kind::Exp, {stats}, g.ops.tensors[stats].dims);
    g.ops.nodes[g.product].inputs[1] = add(
            g, kind::Multiply, {values, factor}, g.ops.tensors[values].dims);
    // In the order in which they are computed.
    const auto product
            = g.ops.nodes.begin() + static_cast<std::ptrdiff_t>(g.product);
    std::rotate(product, g.ops.nodes.end() - 2, g.ops.nodes.end());
    g.product += 2;
    g.last += 2;
    expect_right(c, g, false);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
