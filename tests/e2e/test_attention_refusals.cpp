// Graphs that are nearly attention stay as they are, and a partition of
// attention refuses shapes that are not its graph's.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "e2e/attention_graph.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using kind = op::kind;

// Every op is in one partition, and SoftMax in none of ours. Returns them.
std::vector<partition> expect_softmax_is_left(const attention_graph_t &g) {
    graph built(dnnl::engine::kind::cpu);
    build(g.ops, built);
    auto partitions = built.get_partitions();
    std::vector<int> times(g.ops.nodes.size(), 0);
    for (const partition &p : partitions)
        for (const size_t op : p.get_ops()) {
            ++times.at(op);
            EXPECT_FALSE(op == g.weights && is_ours(p));
        }
    EXPECT_EQ(times, std::vector<int>(times.size(), 1));
    return partitions;
}

void expect_is_left_and_right(
        const attention_case_t &c, const attention_graph_t &g) {
    const chain_values_t values = values_of(c, g);
    for (const partition &p : expect_softmax_is_left(g))
        run(g.ops, p, values);
    for (const auto &buffer : values)
        EXPECT_TRUE(buffer.intact());
    const chain_values_t again = values_of(c, g);
    EXPECT_EQ(
            difference(c, g, answer_of(g, again), values[g.dst()].data()), "");
}

// A tensor that a ReLU reads, too.
attention_graph_t with_reader(attention_graph_t g, size_t tensor) {
    g.ops.tensors.push_back(g.ops.tensors[tensor]);
    g.roles.push_back(role_t::inner);
    g.ops.nodes.push_back({kind::ReLU, {tensor}, {g.roles.size() - 1}});
    return g;
}

TEST(attention_refusals, where_others_read_what_is_inside) {
    attention_case_t c = plain_attention();
    c.addend = extent_t::full;
    const attention_graph_t g = graph_of(c);
    for (size_t op = g.scores; op < g.product; ++op)
        expect_is_left_and_right(c, with_reader(g, g.ops.nodes[op].outputs[0]));
}

// Scores, or weights, meet themselves, or other values of attention.
TEST(attention_refusals, where_a_value_inside_is_an_operand_too) {
    attention_case_t c = plain_attention();
    c.addend = extent_t::full;
    c.head = c.cols = c.tokens = c.rows = 16;
    const attention_graph_t g = graph_of(c);
    const auto adds = std::find_if(g.ops.nodes.begin(), g.ops.nodes.end(),
            [](const chain_node_t &node) { return node.kind == kind::Add; });
    ASSERT_NE(adds, g.ops.nodes.end());
    const auto add = static_cast<size_t>(adds - g.ops.nodes.begin());
    for (size_t op = g.scores; op < add; ++op) {
        attention_graph_t changed = g;
        changed.ops.nodes[add].inputs[1] = g.ops.nodes[op].outputs[0];
        expect_softmax_is_left(changed);
    }
    for (size_t op = g.scores; op < g.product; ++op) {
        attention_graph_t changed = g;
        changed.ops.nodes[g.product].inputs[1] = g.ops.nodes[op].outputs[0];
        expect_softmax_is_left(changed);
    }
}

TEST(attention_refusals, where_softmax_is_along_something_else) {
    const attention_case_t c = plain_attention();
    for (const int64_t axis : {0, 1, 2, -2, -3}) {
        attention_graph_t g = graph_of(c);
        g.ops.nodes[g.weights].along = axis;
        expect_softmax_is_left(g);
    }
}

TEST(attention_refusals, where_a_condition_is_not_boolean) {
    attention_case_t c = plain_attention();
    c.select = select_t::keeps;
    for (const t type : {t::u8, t::s8, t::f32}) {
        attention_graph_t g = graph_of(c);
        auto &condition = g.ops.tensors[g.tensor(role_t::condition)];
        condition.is_boolean = false;
        condition.type = type;
        graph built(dnnl::engine::kind::cpu);
        if (status_of([&] { build(g.ops, built); }) == dnnl_success)
            expect_softmax_is_left(g);
        else
            std::cout << "oneDNN takes no condition of " << to_string(type)
                      << '\n';
    }
}

// oneDNN's partition is not compiled: on one thread 3.7.2 fails to, and faults
// in a later compilation.
TEST(attention_refusals, where_nothing_is_quantized) {
    attention_case_t c = plain_attention();
    c.keys = c.values = {t::undef};
    expect_softmax_is_left(graph_of(c));
}

TEST(attention_refusals, where_indices_are_not_of_rows_and_tokens) {
    attention_case_t c = plain_attention();
    c.select = select_t::causal;
    for (const auto &[first, second] :
            std::vector<std::pair<int, int>> {{3, 2}, {3, 3}, {1, 3}, {2, 0}}) {
        attention_graph_t g = graph_of(c);
        int indices = 0;
        for (chain_node_t &node : g.ops.nodes)
            if (node.kind == kind::GenIndex)
                node.along = indices++ == 0 ? first : second;
        expect_softmax_is_left(g);
    }
}

TEST(attention_refusals, of_shapes_that_do_not_fit_come_at_compile) {
    attention_case_t c = plain_attention();
    c.capped = true;
    c.addend = extent_t::rows;
    c.select = select_t::keeps;
    const attention_graph_t g = graph_of(c);
    graph built(dnnl::engine::kind::cpu);
    build(g.ops, built);
    const partition p = built.get_partitions().at(0);
    ASSERT_TRUE(is_ours(p));
    const auto compile_with = [&](size_t other, const dims_t &dims) {
        const auto ports = [&](const std::vector<logical_tensor> &declared) {
            std::vector<logical_tensor> given;
            for (const auto &lt : declared) {
                support::tensor_t tensor = g.ops.tensors[lt.get_id()];
                if (lt.get_id() == other) {
                    tensor.dims = dims;
                    tensor.strides = support::dense_strides(dims);
                }
                given.push_back(strided(lt.get_id(), tensor));
            }
            return given;
        };
        return status_of([&] {
            compile_or_throw(
                    p, ports(p.get_input_ports()), ports(p.get_output_ports()));
        });
    };
    std::vector<logical_tensor> all = p.get_input_ports();
    for (const auto &port : p.get_output_ports())
        all.push_back(port);
    for (const auto &port : all) {
        const size_t id = port.get_id();
        const dims_t dims = g.ops.tensors[id].dims;
        EXPECT_EQ(compile_with(id, dims), dnnl_success) << id;
        for (size_t d = 0; d < dims.size(); ++d)
            for (const dim_t size : {dims[d] + 1, dims[d] + 3}) {
                dims_t wrong = dims;
                wrong[d] = size;
                EXPECT_NE(compile_with(id, wrong), dnnl_success)
                        << "tensor " << id << ", dimension " << d << " of "
                        << size;
            }
        dims_t longer = dims;
        longer.insert(longer.begin(), 2);
        EXPECT_NE(compile_with(id, longer), dnnl_success) << id;
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
