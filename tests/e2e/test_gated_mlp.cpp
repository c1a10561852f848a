// The gated MLP of oneDNN's own graphs: two products of one src, the one gating
// the other, and a product of what they give. In oneDNN's present form the
// first two give f32, which is cast before the last.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "e2e/gated_mlp.hpp"
#include "e2e/plugin.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;

void check(const chain_graph_t &g, const std::vector<partition> &partitions) {
    const chain_values_t expected = gated_values(g);
    const chain_values_t got = gated_values(g);
    compute_exactly(g, expected);
    for (const partition &p : partitions) {
        EXPECT_TRUE(is_ours(p));
        run(g, p, got);
    }
    set_plugin_enabled(false);
    graph stock(dnnl::engine::kind::cpu);
    build(g, stock);
    EXPECT_LE(partitions.size(), stock.get_partitions().size());
    set_plugin_enabled(true);
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

// The one partition of a graph takes the rows that compile gives.
TEST(gated_mlp, of_other_rows_at_compile) {
    for (const bool are_known : {true, false}) {
        constexpr dim_t at_build = 17;
        gated_mlp_t mlp;
        mlp.rows = at_build;
        chain_graph_t g = graph_of(mlp);
        for (support::tensor_t &tensor : g.tensors)
            if (!are_known && tensor.dims[0] == at_build)
                tensor.dims[0] = DNNL_GRAPH_UNKNOWN_DIM;
        graph built(dnnl::engine::kind::cpu);
        build(g, built);
        const auto partitions = built.get_partitions();
        for (const dim_t rows : {1, 9, 40}) {
            SCOPED_TRACE(rows);
            mlp.rows = rows;
            check(graph_of(mlp), partitions);
        }
    }
}

void check_all(t type, t between) {
    for (const gate_t gate : {gate_t::silu, gate_t::gelu, gate_t::relu})
        for (const dim_t rows : {1, 20}) {
            const chain_graph_t g = graph_of({type, between, gate, rows});
            SCOPED_TRACE(to_string(g));
            graph built(dnnl::engine::kind::cpu);
            const auto status = status_of([&] { build(g, built); });
            if (status != dnnl_success && between != type)
                GTEST_SKIP() << "this oneDNN's MatMul gives src's type alone";
            ASSERT_EQ(status, dnnl_success);
            check(g, built.get_partitions());
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

// oneDNN's own fusions keep values between ops in f32. Ours round them to the
// types that the graph names, so what overflows f16 between the products is an
// infinity, as it is where the ops run one by one.
TEST(gated_mlp, overflows_in_f16_as_the_ops_one_by_one_do) {
    const chain_graph_t g = graph_of({t::f16, t::f16, gate_t::relu, 3});
    const chain_values_t expected = exact_values(g, 3);
    const chain_values_t got = exact_values(g, 3);
    compute_exactly(g, expected);
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    for (const partition &p : built.get_partitions())
        run(g, p, got);
    const support::tensor_t &dst = g.tensors[g.nodes.back().outputs[0]];
    dim_t infinite = 0;
    for (dim_t i = 0; i < dst.span(); ++i) {
        const double right
                = support::float_at(dst.type, expected.back().data(), i);
        const double found = support::float_at(dst.type, got.back().data(), i);
        infinite += std::isinf(right);
        EXPECT_EQ(std::isnan(right), std::isnan(found)) << i;
        EXPECT_TRUE(!std::isinf(right) || right == found) << i;
    }
    EXPECT_GT(infinite, 0);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
