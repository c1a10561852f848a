// The attention of a language model over keys and values that are kept in four
// bits, in shapes and strides that oneDNN's own graphs have: what is fused, and
// that it gives what the ops give one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "e2e/chain_graph.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using kind = op::kind;

// 32 heads, 32 tokens, 128 numbers a token.
class attention_t {
public:
    explicit attention_t(bool with_zps) {
        const size_t query = dense(t::f32, {1, 32, 32, 128});
        const size_t keys = cached(with_zps);
        const size_t scaled = then(
                kind::Multiply, {keys, dense(t::f32, {1})}, {1, 32, 128, 32});
        const size_t scores
                = then(kind::MatMul, {query, scaled}, {1, 32, 32, 32});
        const size_t masked = then(kind::Add,
                {scores, dense(t::f32, {1, 1, 32, 32})}, {1, 32, 32, 32});
        const size_t weights = then(kind::SoftMax, {masked}, {1, 32, 32, 32});
        const size_t values = then(
                kind::StaticTranspose, {cached(with_zps)}, {1, 32, 32, 128});
        g_.nodes.back().order = {0, 1, 3, 2};
        const size_t heads
                = then(kind::MatMul, {weights, values}, {1, 32, 32, 128});
        then(kind::StaticTranspose, {heads}, {1, 32, 32, 128});
        g_.nodes.back().order = {0, 2, 1, 3};
    }

    const chain_graph_t &graph() const { return g_; }

private:
    size_t tensor(t type, const dims_t &dims, const dims_t &strides) {
        g_.tensors.push_back({type, dims, strides});
        return g_.tensors.size() - 1;
    }
    size_t dense(t type, const dims_t &dims) {
        return tensor(type, dims, support::dense_strides(dims));
    }
    size_t then(kind k, const std::vector<size_t> &inputs, const dims_t &dims) {
        const size_t output = dense(t::f32, dims);
        g_.nodes.push_back({k, inputs, {output}});
        return output;
    }
    // Token by token, in groups of 8 of a token's numbers.
    size_t cached(bool with_zps) {
        const dims_t dims {1, 32, 128, 32}, groups {1, 32, 16, 32};
        std::vector<size_t> inputs {tensor(t::u4, dims, {131072, 4096, 1, 128}),
                dense(t::f32, groups)};
        if (with_zps) inputs.push_back(dense(t::u4, groups));
        const size_t output = then(kind::DynamicDequantize, inputs, dims);
        auto &dequantize = g_.nodes.back().dequantize;
        dequantize.qtype = support::qtype_t::per_group;
        dequantize.group_shape = {1, 1, 8, 1};
        return output;
    }

    chain_graph_t g_;
};

// By the formulas, and by stock where there are none here.
void run_ops(const chain_graph_t &g, const chain_values_t &values) {
    for (size_t id = 0; id < g.nodes.size(); ++id) {
        const bool known = compute(g, id, values);
        void *const output = values[g.nodes[id].outputs[0]].data();
        ASSERT_TRUE(known || run_stock(g, id, values, output)) << "op" << id;
    }
}

std::vector<partition> partitions_of(const chain_graph_t &g) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    return built.get_partitions();
}

// Smaller numbers than any: sums of them stay finite, and weights differ.
void fill_ordinary(const chain_graph_t &g, const chain_values_t &values) {
    support::random_t random(3);
    for (size_t id = 0; id < g.tensors.size(); ++id) {
        if (g.tensors[id].type != t::f32) continue;
        auto *numbers = static_cast<float *>(values[id].data());
        for (dim_t i = 0; i < g.tensors[id].span(); ++i)
            numbers[i] = 0.01f * static_cast<float>(random.between(-99, 99));
    }
}

void expect_near(const chain_graph_t &g, size_t tensor,
        const chain_values_t &expected, const chain_values_t &got) {
    const auto *want = static_cast<const float *>(expected[tensor].data());
    const auto *have = static_cast<const float *>(got[tensor].data());
    const dim_t count = g.tensors[tensor].span();
    float largest = 0, error = 0;
    for (dim_t i = 0; i < count; ++i) {
        largest = std::max(largest, std::abs(want[i]));
        error = std::max(error, std::abs(want[i] - have[i]));
    }
    EXPECT_GT(largest, 0.f);
    EXPECT_LT(error, 1e-5f * largest) << "tensor " << tensor;
}

void check_attention(bool with_zps) {
    const attention_t attention(with_zps);
    const chain_graph_t &g = attention.graph();
    const auto expected = initial_values(g, support::values_t::ordinary, 7);
    const auto got = initial_values(g, support::values_t::ordinary, 7);
    fill_ordinary(g, expected);
    fill_ordinary(g, got);
    run_ops(g, expected);
    if (::testing::Test::HasFatalFailure()) return;

    std::vector<std::vector<size_t>> fused;
    for (const partition &p : partitions_of(g)) {
        run(g, p, got);
        auto ops = p.get_ops();
        std::sort(ops.begin(), ops.end());
        for (const auto &port : p.get_output_ports()) {
            const size_t id = port.get_id();
            EXPECT_TRUE(got[id].intact());
            if (is_ours(p))
                EXPECT_EQ(std::memcmp(expected[id].data(), got[id].data(),
                                  got[id].size()),
                        0)
                        << "tensor " << id;
            else expect_near(g, id, expected, got);
        }
        if (is_ours(p)) fused.push_back(ops);
    }
    std::sort(fused.begin(), fused.end());
    EXPECT_EQ(fused, (std::vector<std::vector<size_t>> {{0, 1}, {5, 6}}));
}

TEST(attention, over_a_compressed_cache_is_fused_and_equal) {
    check_attention(false);
}

TEST(attention, over_a_compressed_cache_with_zero_points_is_too) {
    check_attention(true);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
