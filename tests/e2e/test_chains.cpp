// Random chains of ops around dequantizes: what the plugin makes one partition
// of is, bit for bit, what the ops give one by one; all else is as it was.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>

#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "e2e/random_chain.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

struct tally_t {
    size_t dequantizes = 0, ops = 0; // of all graphs
    size_t fused = 0;                // ops in partitions of ours of several
    size_t checked_by_stock = 0;     // ops that stock ran as well
    size_t refused_by_stock = 0;
};

using partitions_t = std::vector<partition>;
using ids_t = std::vector<size_t>;

partitions_t partitions_of(
        const chain_graph_t &g, bool enabled, partition::policy policy) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    set_plugin_enabled(enabled);
    auto partitions = built.get_partitions(policy);
    set_plugin_enabled(true);
    return partitions;
}

// True for ops that stock does not have, or does not do right for all scales.
bool only_ours(const chain_node_t &node) {
    return dequantizes(node) && node.kind != op::kind::Dequantize;
}

// One by one: the formula, held against stock where stock runs the op; or what
// stock gives.
void run_ops(
        const chain_graph_t &g, const chain_values_t &values, tally_t &tally) {
    for (size_t id = 0; id < g.nodes.size(); ++id) {
        const chain_node_t &node = g.nodes[id];
        if (node.outputs.empty() || node.kind == op::kind::Wildcard) continue;
        const size_t output = node.outputs[0];
        const support::guarded_buffer_t stock(g.tensors[output].bytes());
        const bool known = compute(g, id, values);
        if (only_ours(node)) continue;

        if (!run_stock(g, id, values, stock.data())) {
            ++tally.refused_by_stock;
            ASSERT_TRUE(known) << "op" << id;
            continue;
        }
        ++tally.checked_by_stock;
        if (known)
            EXPECT_EQ(difference_from_stock(
                              g, id, values[output].data(), stock.data()),
                    "")
                    << "op" << id;
        else std::memcpy(values[output].data(), stock.data(), stock.size());
    }
}

bool only_ours(const chain_graph_t &g, const ids_t &ops) {
    return std::any_of(ops.begin(), ops.end(),
            [&](size_t id) { return only_ours(g.nodes[id]); });
}

void expect_equal(const chain_graph_t &g, size_t tensor,
        const chain_values_t &expected, const chain_values_t &got) {
    const auto &t = g.tensors[tensor];
    EXPECT_TRUE(got[tensor].intact());
    if (is_floating(t.type) && bits_of(t.type) > 8)
        EXPECT_EQ(support::difference(t.type, expected[tensor].data(),
                          got[tensor].data(), t.span()),
                "")
                << "tensor " << tensor;
    else
        EXPECT_EQ(std::memcmp(expected[tensor].data(), got[tensor].data(),
                          t.bytes()),
                0)
                << "tensor " << tensor;
}

// Runs what is ours; what oneDNN's own partitions give is what their ops give
// one by one, or nearly so.
void run_partition(const chain_graph_t &g, const partition &p,
        const chain_values_t &expected, const chain_values_t &got,
        tally_t &tally) {
    const ids_t ops = p.get_ops();
    EXPECT_TRUE(is_ours(p) || !only_ours(g, ops));
    if (is_ours(p)) {
        std::string kernel;
        EXPECT_EQ(status_of([&] { kernel = run(g, p, got); }), dnnl_success)
                << "partition of op" << ops.back();
        EXPECT_NE(kernel, "");
        if (ops.size() > 1) tally.fused += ops.size();
    }
    for (const auto &port : p.get_output_ports()) {
        const size_t id = port.get_id();
        if (is_ours(p)) expect_equal(g, id, expected, got);
        else std::memcpy(got[id].data(), expected[id].data(), got[id].size());
    }
}

bool is_part(const ids_t &part, const ids_t &whole) {
    return std::all_of(part.begin(), part.end(), [&](size_t id) {
        return std::count(whole.begin(), whole.end(), id) == 1;
    });
}

// Every op is in one partition, and inputs come first. Each of stock's
// partitions is there, or is a part of one of ours that dequantizes, or does
// what stock does not.
void expect_order(const chain_graph_t &g, const partitions_t &ours,
        const partitions_t &stock) {
    std::set<size_t> ids, done, unwritten;
    for (const chain_node_t &node : g.nodes)
        unwritten.insert(node.outputs.begin(), node.outputs.end());
    for (const partition &p : ours) {
        EXPECT_TRUE(ids.insert(p.get_id()).second);
        for (const size_t op : p.get_ops())
            EXPECT_TRUE(done.insert(op).second) << "op" << op;
        for (const auto &port : p.get_input_ports())
            EXPECT_EQ(unwritten.count(port.get_id()), 0u);
        for (const auto &port : p.get_output_ports())
            EXPECT_EQ(unwritten.erase(port.get_id()), 1u);
    }
    for (const partition &p : stock) {
        const ids_t part = p.get_ops();
        const bool found
                = std::any_of(ours.begin(), ours.end(), [&](const auto &mine) {
            const ids_t whole = mine.get_ops();
            const bool has_dequantize = std::any_of(whole.begin(), whole.end(),
                    [&](size_t id) { return dequantizes(g.nodes[id]); });
            return whole == part
                   || ((has_dequantize || !p.is_supported())
                           && is_part(part, whole));
        });
        EXPECT_TRUE(found) << "stock's partition of op" << part.front();
    }
}

void check_chain(const chain_graph_t &g, uint64_t seed,
        partition::policy policy, tally_t &tally) {
    SCOPED_TRACE(
            "DNNL_DEQUANT_TEST_SEED=" + std::to_string(seed) + to_string(g));
    const auto kind
            = seed % 2 ? support::values_t::any : support::values_t::ordinary;
    const auto expected = initial_values(g, kind, seed);
    const auto got = initial_values(g, kind, seed);
    run_ops(g, expected, tally);
    if (::testing::Test::HasFailure()) return;
    const auto ours = partitions_of(g, true, policy);
    const auto stock = partitions_of(g, false, policy);
    expect_order(g, ours, stock);
    if (policy == partition::policy::debug) {
        EXPECT_EQ(ours.size(), stock.size());
    }
    for (const partition &p : ours)
        run_partition(g, p, expected, got, tally);
    tally.ops += g.nodes.size();
}

TEST(random_chains, give_what_their_ops_give_one_by_one) {
    tally_t tally;
    const uint64_t count = 40 + 360 / static_cast<uint64_t>(support::every());
    for (uint64_t n = 0; n < count; ++n) {
        const uint64_t seed = support::first_seed() + n;
        check_chain(random_chain(seed), seed,
                n % 8 ? partition::policy::fusion : partition::policy::debug,
                tally);
        if (HasFailure()) return;
    }
    std::cout << "of " << tally.ops << " ops " << tally.fused
              << " were fused; stock ran " << tally.checked_by_stock
              << " and refused " << tally.refused_by_stock << "\n";
    EXPECT_GT(2 * tally.fused, tally.ops);
    EXPECT_GT(4 * tally.checked_by_stock, tally.ops);
}

// One of the sequences of so many steps, by number.
std::vector<chain_step_t> steps_of(size_t length, uint64_t number) {
    std::vector<chain_step_t> steps;
    for (size_t i = 0; i < length; ++i, number /= chain_step_count)
        steps.push_back(static_cast<chain_step_t>(number % chain_step_count));
    return steps;
}

uint64_t sequences_of(size_t length) {
    uint64_t count = 1;
    for (size_t i = 0; i < length; ++i)
        count *= chain_step_count;
    return count;
}

// The field of nine numbers: i + 3 * j stands for i + j * w, w * w being -1.
size_t sum(size_t a, size_t b) {
    return (a % 3 + b % 3) % 3 + (a / 3 + b / 3) % 3 * 3;
}
size_t product(size_t a, size_t b) {
    const size_t minus_one = 2;
    return (a % 3 * (b % 3) + minus_one * (a / 3) * (b / 3)) % 3
           + (a % 3 * (b / 3) + a / 3 * (b % 3)) % 3 * 3;
}

// One of 81 sequences of at most nine steps among which every two steps stand
// at every two places once. Step x is a + b x + c x^2; `number` says a and b.
std::vector<chain_step_t> covering_steps(
        size_t length, uint64_t number, size_t c) {
    static_assert(chain_step_count == 9, "expected as many as the field has");
    const size_t a = number % 9, b = number / 9;
    std::vector<chain_step_t> steps;
    for (size_t x = 0; x < length; ++x)
        steps.push_back(static_cast<chain_step_t>(
                sum(a, product(x, sum(b, product(c, x))))));
    return steps;
}
constexpr uint64_t covering_count = 81;

// A dequantize op and what follows it, as `steps_of_number` says.
template <typename steps_t>
void check_sequences(size_t dequantize, size_t length, uint64_t count,
        tally_t &tally, steps_t &&steps_of_number) {
    const auto every = static_cast<uint64_t>(support::every());
    for (uint64_t n = dequantize % every; n < count; n += every) {
        if (::testing::Test::HasFailure()) return;
        const uint64_t seed = support::first_seed() + n;
        SCOPED_TRACE("sequence " + std::to_string(n) + " of "
                     + std::to_string(length));
        check_chain(chain_of(dequantize, steps_of_number(length, n), seed),
                seed, partition::policy::fusion, tally);
    }
}

// Every sequence of up to three steps; of four to six those in which every two
// steps meet at every two places.
void check_product(size_t dequantize) {
    tally_t tally;
    for (size_t length = 0; length <= 3; ++length)
        check_sequences(
                dequantize, length, sequences_of(length), tally, steps_of);
    for (size_t length = 4; length <= 6; ++length)
        check_sequences(dequantize, length, covering_count, tally,
                [&](size_t steps, uint64_t n) {
            return covering_steps(steps, n, dequantize);
        });
    std::cout << "of " << tally.ops << " ops " << tally.fused
              << " were fused; stock ran " << tally.checked_by_stock << "\n";
    EXPECT_GT(4 * tally.fused, 3 * tally.ops);
}

// Tiles of transposed tensors cut the columns; nibbles only at whole bytes.
TEST(chains, cut_nibbles_at_bytes) {
    for (const dim_t cols : {86, 102}) {
        chain_graph_t g;
        const dims_t dims {6, cols};
        chain_node_t dequantize {op::kind::DynamicDequantize, {}, {}};
        dequantize.dequantize.src.dims = dims;
        dequantize.dequantize.qtype = support::qtype_t::per_tensor;
        dequantize.inputs = {add_tensor(g, data_type_t::u4, dims),
                add_tensor(g, data_type_t::f32,
                        support::scales_dims_of(dequantize.dequantize))};
        dequantize.outputs = {add_tensor(g, data_type_t::f32, dims)};
        g.nodes.push_back(dequantize);
        for (int i = 0; i < 4; ++i) {
            chain_node_t add {op::kind::Add, {}, {}};
            const size_t other = add_tensor(g, data_type_t::f32, dims);
            g.tensors[other].strides = {1, dims[0]};
            add.inputs = {g.nodes.back().outputs[0], other};
            add.outputs = {add_tensor(g, data_type_t::f32, dims)};
            g.nodes.push_back(add);
        }
        graph built(dnnl::engine::kind::cpu);
        build(g, built);
        const auto partitions = built.get_partitions();
        ASSERT_EQ(partitions.size(), 1u);
        const auto ordinary = support::values_t::ordinary;
        const auto got = initial_values(g, ordinary, 5);
        const auto expected = initial_values(g, ordinary, 5);
        run(g, partitions[0], got);
        for (size_t id = 0; id < g.nodes.size(); ++id)
            ASSERT_TRUE(compute(g, id, expected));
        EXPECT_EQ(support::difference(data_type_t::f32, expected.back().data(),
                          got.back().data(), g.tensors.back().span()),
                "")
                << cols << " columns";
    }
}

TEST(chain_product, of_dequantize) {
    check_product(0);
}
TEST(chain_product, of_dequantize_linear) {
    check_product(1);
}
TEST(chain_product, of_extended_dequantize_linear) {
    check_product(2);
}
TEST(chain_product, of_dynamic_dequantize) {
    check_product(3);
}

TEST(chain_product, has_every_two_steps_at_every_two_places) {
    for (size_t c = 0; c < dequantize_kind_count; ++c)
        for (size_t i = 0; i < 6; ++i)
            for (size_t j = 0; j < i; ++j) {
                std::set<std::pair<chain_step_t, chain_step_t>> pairs;
                for (uint64_t n = 0; n < covering_count; ++n) {
                    const auto steps = covering_steps(6, n, c);
                    pairs.emplace(steps[i], steps[j]);
                }
                EXPECT_EQ(pairs.size(), covering_count);
            }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
