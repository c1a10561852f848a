// Among oneDNN's own ops: their partitions are what they are without the
// plugin, and what comes out is the same.

#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "e2e/plugin.hpp"
#include "e2e/random_graph.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

// Of those that the seeds give; fewer where only a sample is wanted.
const uint64_t graphs = 20 + 180 / static_cast<uint64_t>(support::every());

std::vector<partition> partitions_of(
        graph &g, bool enabled, partition::policy policy) {
    set_plugin_enabled(enabled);
    auto partitions = g.get_partitions(policy);
    set_plugin_enabled(true);
    return partitions;
}

bool is_single_dequantize(const graph_spec_t &spec, const partition &p) {
    const auto ops = p.get_ops();
    return ops.size() == 1 && spec.dequantizes.count(ops[0]);
}

// Inputs come before their consumers.
bool in_order(
        const graph_spec_t &spec, const std::vector<partition> &partitions) {
    std::vector<bool> done(spec.tensors.size(), true);
    for (const auto &node : spec.nodes)
        done[node.output] = false;
    for (const auto &p : partitions) {
        for (const auto &port : p.get_input_ports())
            if (!done[port.get_id()]) return false;
        for (const auto &port : p.get_output_ports())
            done[port.get_id()] = true;
    }
    return true;
}

// The ids of the tensors that partitions of both write.
void expect_same_values(const graph_spec_t &spec,
        const std::vector<partition> &partitions, const values_of_t &expected,
        const values_of_t &got) {
    for (const auto &p : partitions)
        for (const auto &port : p.get_output_ports()) {
            const size_t id = port.get_id();
            const auto &t = spec.tensors.at(id);
            EXPECT_EQ(support::difference(t.type, expected.at(id).data(),
                              got.at(id).data(), t.span()),
                    "")
                    << "tensor " << id;
        }
}

struct tally_t {
    size_t executed = 0; // partitions that are oneDNN's own
    size_t refused = 0;  // of those: claimed by oneDNN, but not compiled
};

// The same partition with and without the plugin.
void check_partition(const graph_spec_t &spec, const partition &ours,
        const partition &stock, values_of_t &got, values_of_t &expected,
        tally_t &tally) {
    EXPECT_EQ(ours.get_ops(), stock.get_ops());
    if (is_single_dequantize(spec, ours)) {
        EXPECT_TRUE(ours.is_supported());
        run_reference(spec, ours.get_ops()[0], expected);
        run(spec, ours, got);
        return;
    }
    EXPECT_EQ(ours.is_supported(), stock.is_supported());
    const auto status = status_of([&] { run(spec, stock, expected); });
    EXPECT_EQ(status_of([&] { run(spec, ours, got); }), status);
    // Where oneDNN refuses what it claimed, its outputs stay as they were.
    ++(status == dnnl_success ? tally.executed : tally.refused);
}

void check_graph(uint64_t seed, partition::policy policy, tally_t &tally) {
    const graph_spec_t spec = random_graph(seed);
    graph with(dnnl::engine::kind::cpu), without(dnnl::engine::kind::cpu);
    build(spec, with);
    build(spec, without);
    const auto ours = partitions_of(with, true, policy);
    const auto stock = partitions_of(without, false, policy);
    ASSERT_EQ(ours.size(), stock.size());
    EXPECT_TRUE(in_order(spec, ours));
    auto got = initial_values(spec, seed),
         expected = initial_values(spec, seed);
    std::set<size_t> ids;
    for (size_t i = 0; i < ours.size(); ++i) {
        check_partition(spec, ours[i], stock[i], got, expected, tally);
        EXPECT_TRUE(ids.insert(ours[i].get_id()).second);
    }
    expect_same_values(spec, ours, expected, got);
}

TEST(random_graphs, have_stock_partitions_and_results) {
    tally_t tally;
    for (uint64_t n = 0; n < graphs; ++n) {
        const uint64_t seed = support::first_seed() + n;
        SCOPED_TRACE("DNNL_DEQUANT_TEST_SEED=" + std::to_string(seed));
        check_graph(seed,
                n % 4 ? partition::policy::fusion : partition::policy::debug,
                tally);
        if (HasFailure()) return;
    }
    std::cout << "of oneDNN's partitions " << tally.executed
              << " were executed, " << tally.refused << " refused\n";
    EXPECT_GT(tally.executed, 10 * tally.refused);
}

// The generator makes what the test is about.
TEST(random_graphs, hold_dequantizes_and_attention) {
    size_t dequantizes = 0, large = 0;
    for (uint64_t n = 0; n < graphs; ++n) {
        const graph_spec_t spec = random_graph(support::first_seed() + n);
        dequantizes += spec.dequantizes.size();
        graph g(dnnl::engine::kind::cpu);
        build(spec, g);
        for (const auto &p : g.get_partitions())
            if (p.get_ops_num() > 2) ++large;
    }
    EXPECT_GT(dequantizes, graphs);
    EXPECT_GT(large, graphs / 20);
    std::cout << dequantizes << " dequantizes, " << large
              << " partitions of three and more ops\n";
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
