// Among oneDNN's own ops: their partitions are what they are without the
// plugin, and what comes out is the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <set>
#include <stdexcept>

#include "e2e/chain_graph.hpp"
#include "e2e/plugin.hpp"
#include "e2e/random_graph.hpp"
#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

// Graphs that the seeds give; fewer if only a sample is wanted.
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

bool dequantizes(const graph_spec_t &spec, const partition &p) {
    const auto ops = p.get_ops();
    return std::any_of(ops.begin(), ops.end(),
            [&spec](size_t op) { return spec.dequantizes.count(op) != 0; });
}

// The partition that holds the op.
const partition &home_of(size_t op, const std::vector<partition> &partitions) {
    for (const auto &p : partitions) {
        const auto ops = p.get_ops();
        if (std::count(ops.begin(), ops.end(), op)) return p;
    }
    throw std::logic_error("an op is in no partition");
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

struct tally_t {
    size_t executed = 0; // partitions that are oneDNN's own
    size_t refused = 0;  // of those: claimed by oneDNN, but not compiled
    size_t fused = 0;    // partitions of ours of several ops
};

// A product that is summed in another order than stock does.
bool multiplies(const graph_spec_t &spec, const partition &p) {
    const auto ops = p.get_ops();
    return dequantizes(spec, p)
           && std::any_of(ops.begin(), ops.end(), [&](size_t op) {
        return spec.nodes[op].kind == op::kind::MatMul;
    });
}

// One of stock's of which a product of ours has a part only.
bool is_taken_apart(const graph_spec_t &spec, const partition &p,
        const std::vector<partition> &ours) {
    const auto ops = p.get_ops();
    return ops.size() > 1
           && std::any_of(ops.begin(), ops.end(), [&](size_t op) {
        return spec.nodes[op].kind == op::kind::MatMul
               && multiplies(spec, home_of(op, ours));
    });
}

// Each of stock's partitions is still there, or a part of one of ours, or it
// was taken apart for a product.
void expect_whole_partitions(const graph_spec_t &spec,
        const std::vector<partition> &ours, const std::vector<partition> &stock,
        tally_t &tally) {
    for (const auto &p : stock) {
        const auto ops = p.get_ops();
        const partition &home = home_of(ops[0], ours);
        if (home.get_ops() == ops) {
            EXPECT_TRUE(is_single_dequantize(spec, p)
                        || home.is_supported() == p.is_supported());
            continue;
        }
        if (is_taken_apart(spec, p, ours)) continue;
        EXPECT_TRUE(dequantizes(spec, home));
        const auto all = home.get_ops();
        for (const size_t op : ops)
            EXPECT_EQ(std::count(all.begin(), all.end(), op), 1);
    }
    for (const auto &p : ours)
        if (p.get_ops_num() > 1 && dequantizes(spec, p)
                && home_of(p.get_ops()[0], stock).get_ops() != p.get_ops())
            ++tally.fused;
}

// Stock's attention over dequantized keys or values, which is ours with the
// plugin. Stock leaves out zero points in it, and reads tensors that are not
// dense wrongly.
bool is_our_attention(const graph_spec_t &spec, const partition &p,
        const std::vector<partition> &ours) {
    const auto ops = p.get_ops();
    const auto count = [&](op::kind kind) {
        return std::count_if(ops.begin(), ops.end(),
                [&](size_t op) { return spec.nodes[op].kind == kind; });
    };
    return count(op::kind::MatMul) > 1 && count(op::kind::SoftMax) > 0
           && is_ours(home_of(ops[0], ours));
}

void run_formulas(
        const graph_spec_t &spec, const partition &p, values_of_t &values) {
    auto ops = p.get_ops();
    std::sort(ops.begin(), ops.end());
    for (const size_t op : ops) {
        if (spec.dequantizes.count(op)) run_reference(spec, op, values);
        else run_formula(spec, op, values);
    }
}

// Runs stock, and the formula for a dequantize or an attention that is ours. It
// names the tensors that stock claims but refuses to compute.
std::set<size_t> run_stock(const graph_spec_t &spec,
        const std::vector<partition> &stock, const std::vector<partition> &ours,
        values_of_t &values, tally_t &tally) {
    std::set<size_t> missing;
    for (const auto &p : stock) {
        if (is_our_attention(spec, p, ours)) {
            run_formulas(spec, p, values);
            continue;
        }
        if (is_single_dequantize(spec, p)) {
            run_reference(spec, p.get_ops()[0], values);
            continue;
        }
        const auto status = status_of([&] { run(spec, p, values); });
        ++(status == dnnl_success ? tally.executed : tally.refused);
        if (status != dnnl_success)
            for (const auto &port : p.get_output_ports())
                missing.insert(port.get_id());
    }
    return missing;
}

// Whether it is computed, in the end, from a tensor that is missing.
bool depends_on(const std::set<size_t> &missing, const partition &p) {
    for (const auto &port : p.get_input_ports())
        if (missing.count(port.get_id())) return true;
    for (const auto &port : p.get_output_ports())
        if (missing.count(port.get_id())) return true;
    return false;
}

// Within some roundings of the greatest value; what follows goes on from the
// expected values, bit for bit.
void expect_near(const support::tensor_t &t, size_t id,
        const support::guarded_buffer_t &expected,
        const support::guarded_buffer_t &got, double tolerance) {
    double greatest = 0, off = 0;
    for (dim_t i = 0; i < t.span(); ++i) {
        const double want = support::float_at(t.type, expected.data(), i);
        const double is = support::float_at(t.type, got.data(), i);
        EXPECT_EQ(std::isnan(want), std::isnan(is))
                << "tensor " << id << ", element " << i;
        if (!std::isfinite(want) || !std::isfinite(is)) continue;
        greatest = std::max(greatest, std::fabs(want));
        off = std::max(off, std::fabs(want - is));
    }
    EXPECT_LE(off, greatest * tolerance) << "tensor " << id;
    EXPECT_TRUE(got.intact());
    std::memcpy(got.data(), expected.data(), t.bytes());
}

// The tensors that stock's partitions read or write.
std::set<size_t> ports_of(const std::vector<partition> &stock) {
    std::set<size_t> ports;
    for (const auto &p : stock) {
        for (const auto &port : p.get_input_ports())
            ports.insert(port.get_id());
        for (const auto &port : p.get_output_ports())
            ports.insert(port.get_id());
    }
    return ports;
}

// Within a partition of stock's that was taken apart.
bool goes_on_from_ours(const std::set<size_t> &of_stock, const partition &p) {
    const auto inputs = p.get_input_ports();
    return std::any_of(inputs.begin(), inputs.end(), [&](const auto &port) {
        return of_stock.count(port.get_id()) == 0;
    });
}

void run_and_compare(const graph_spec_t &spec, const partition &p,
        const std::set<size_t> &of_stock, std::set<size_t> &missing,
        const values_of_t &expected, values_of_t &got) {
    const bool compared = !depends_on(missing, p);
    const bool is_near = multiplies(spec, p) || goes_on_from_ours(of_stock, p);
    const auto status = status_of([&] { run(spec, p, got); });
    if (compared) {
        EXPECT_EQ(status, dnnl_success);
    }
    for (const auto &port : p.get_output_ports()) {
        const size_t id = port.get_id();
        if (!compared) missing.insert(id);
        const auto &t = spec.tensors.at(id);
        if (of_stock.count(id) == 0) continue;
        if (compared && is_near) {
            // SoftMax makes a rounding of a large score a larger difference.
            const double tolerance = p.get_ops_num() > 4 ? 1e-3 : 1e-5;
            expect_near(t, id, expected.at(id), got.at(id), tolerance);
        } else if (compared) {
            EXPECT_EQ(support::difference(t.type, expected.at(id).data(),
                              got.at(id).data(), t.span()),
                    "")
                    << "tensor " << id;
        }
    }
}

void check_graph(uint64_t seed, partition::policy policy, tally_t &tally) {
    const graph_spec_t spec = random_graph(seed);
    graph with(dnnl::engine::kind::cpu), without(dnnl::engine::kind::cpu);
    build(spec, with);
    build(spec, without);
    const auto ours = partitions_of(with, true, policy);
    const auto stock = partitions_of(without, false, policy);
    if (policy == partition::policy::debug) {
        EXPECT_EQ(ours.size(), stock.size());
    }
    EXPECT_TRUE(in_order(spec, ours));
    expect_whole_partitions(spec, ours, stock, tally);
    auto got = initial_values(spec, seed),
         expected = initial_values(spec, seed);
    auto missing = run_stock(spec, stock, ours, expected, tally);
    const auto of_stock = ports_of(stock);
    std::set<size_t> ids;
    for (const auto &p : ours) {
        run_and_compare(spec, p, of_stock, missing, expected, got);
        EXPECT_TRUE(ids.insert(p.get_id()).second);
    }
}

TEST(random_graphs, keep_stock_partitions_and_results) {
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
              << " were executed, " << tally.refused << " refused; "
              << tally.fused << " of ours are fused\n";
    EXPECT_GT(tally.fused, 0u);
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
