// If oneDNN has one partition of several products, the user gets one of ours,
// which runs several kernels.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "e2e/gated_mlp.hpp"
#include "e2e/plugin.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using t = data_type_t;
using kind = op::kind;
using ids_t = std::set<size_t>;

std::vector<partition> partitions_of(const chain_graph_t &g, bool enabled) {
    set_plugin_enabled(enabled);
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    auto partitions = built.get_partitions();
    set_plugin_enabled(true);
    return partitions;
}

// The only one of the plugin's. oneDNN has no fewer.
partition compound_of(const chain_graph_t &g) {
    const auto ours = partitions_of(g, true);
    EXPECT_GE(partitions_of(g, false).size(), 1u);
    EXPECT_EQ(ours.size(), 1u);
    EXPECT_TRUE(is_ours(ours.at(0)));
    return ours.at(0);
}

ids_t ids_of(const std::vector<logical_tensor> &ports) {
    ids_t ids;
    for (const logical_tensor &port : ports)
        ids.insert(port.get_id());
    return ids;
}

std::vector<logical_tensor> as_they_lie(
        const chain_graph_t &g, const std::vector<logical_tensor> &ports) {
    std::vector<logical_tensor> result;
    for (const logical_tensor &port : ports)
        result.push_back(strided(port.get_id(), g.tensors[port.get_id()]));
    return result;
}

compiled_partition compiled_of(const chain_graph_t &g, const partition &p) {
    return p.compile(as_they_lie(g, p.get_input_ports()),
            as_they_lie(g, p.get_output_ports()), cpu_engine());
}

// Executes with each tensor where the function says.
dnnl_status_t execute(const chain_graph_t &g, const partition &p,
        const compiled_partition &compiled,
        const std::function<void *(size_t)> &data_of) {
    const auto bound = [&](const std::vector<logical_tensor> &ports) {
        std::vector<tensor> tensors;
        for (const logical_tensor &port : as_they_lie(g, ports))
            tensors.emplace_back(port, cpu_engine(), data_of(port.get_id()));
        return tensors;
    };
    return status_of([&] {
        compiled.execute(cpu_stream(), bound(p.get_input_ports()),
                bound(p.get_output_ports()));
        cpu_stream().wait();
    });
}

const support::tensor_t &dst_of(const chain_graph_t &g) {
    return g.tensors[g.nodes.back().outputs[0]];
}

TEST(compound, has_the_ops_and_ports_of_the_partition_it_replaces) {
    for (const gate_t gate : {gate_t::silu, gate_t::gelu, gate_t::relu}) {
        const chain_graph_t g = graph_of({t::f32, t::f32, gate, 2});
        const partition p = compound_of(g);
        const auto all_of_stock = partitions_of(g, false);
        ASSERT_EQ(all_of_stock.size(), 1u);
        const partition stock = all_of_stock[0];
        EXPECT_TRUE(p.is_supported());
        const auto ops = p.get_ops(), stock_ops = stock.get_ops();
        EXPECT_EQ(p.get_ops_num(), ops.size());
        EXPECT_EQ(ids_t(ops.begin(), ops.end()),
                ids_t(stock_ops.begin(), stock_ops.end()));
        EXPECT_EQ(ids_of(p.get_input_ports()), ids_of(stock.get_input_ports()));
        EXPECT_EQ(
                ids_of(p.get_output_ports()), ids_of(stock.get_output_ports()));
        EXPECT_EQ(p.get_engine_kind(), dnnl::engine::kind::cpu);
    }
}

TEST(compound, keeps_the_id_of_the_partition_it_replaces) {
    // Two of them in one graph: neither has the other's.
    chain_graph_t g = graph_of(gated_mlp_t());
    const chain_graph_t second = g;
    const size_t tensors = g.tensors.size();
    g.tensors.insert(
            g.tensors.end(), second.tensors.begin(), second.tensors.end());
    for (chain_node_t node : second.nodes) {
        for (size_t &id : node.inputs)
            id += tensors;
        for (size_t &id : node.outputs)
            id += tensors;
        g.nodes.push_back(node);
    }
    const auto ours = partitions_of(g, true);
    ASSERT_EQ(ours.size(), 2u);
    EXPECT_NE(ours[0].get_id(), ours[1].get_id());
    EXPECT_EQ(partitions_of(g, false).size(), 2u);
}

TEST(compound, names_the_kernel_of_every_part) {
    const chain_graph_t g = graph_of(gated_mlp_t());
    const std::string kernels = kernel_of(compiled_of(g, compound_of(g)));
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), ';'), 2) << kernels;
    EXPECT_EQ(kernels.find("onednn"), std::string::npos) << kernels;
    EXPECT_NE(kernels.find("matmul"), std::string::npos) << kernels;
}

// Nothing of ours computes Maximum.
TEST(compound, has_parts_that_onednn_runs) {
    for (const dim_t rows : {1, 20}) {
        matmul_case_t c;
        c.src = {rows, 64};
        c.weights = {64, 96};
        const chain_graph_t product = graph_of(c);
        chain_graph_t g = product;
        const size_t other = add_tensor(g, t::f32, {rows, 96});
        g = with(std::move(g), {kind::Maximum, {}, {}}, t::f32, {rows, 96},
                {other});
        const partition p = compound_of(g);
        const chain_values_t values = exact_values(g, 7);
        const compiled_partition compiled = compiled_of(g, p);
        const std::string kernels = kernel_of(compiled);
        EXPECT_NE(kernels.find(";onednn"), std::string::npos) << kernels;
        ASSERT_EQ(execute(g, p, compiled,
                          [&](size_t id) { return values[id].data(); }),
                dnnl_success);
        const std::vector<char> got(
                static_cast<const char *>(values.back().data()),
                static_cast<const char *>(values.back().data())
                        + values.back().size());
        compute_exactly(product, values);
        const size_t multiplied = product.nodes[1].outputs[0];
        for (dim_t i = 0; i < dst_of(g).span(); ++i)
            EXPECT_EQ(support::float_at(t::f32, got.data(), i),
                    std::max(support::float_at(
                                     t::f32, values[multiplied].data(), i),
                            support::float_at(t::f32, values[other].data(), i)))
                    << i;
    }
}

std::vector<char> result_of(const chain_graph_t &g) {
    const chain_values_t values = gated_values(g);
    run(g, compound_of(g), values);
    const auto *data = static_cast<const char *>(values.back().data());
    return {data, data + values.back().size()};
}

TEST(compound, says_of_every_part_why_other_kernels_are_not_taken) {
    const chain_graph_t g = graph_of({t::f32, t::f32, gate_t::relu, 40});
    const std::string reasons = not_taken_of(compiled_of(g, compound_of(g)));
    // One or the other for each part: AMX takes so many rows, but no such
    // columns.
    size_t count = 0;
    for (const char *reason : {"skinny_gemm: ", "jit_matmul_k_lanes_amx_f32: "})
        for (size_t at = reasons.find(reason); at != std::string::npos;
                at = reasons.find(reason, at + 1))
            ++count;
    EXPECT_EQ(count, 3u) << reasons;
}

TEST(compound, infers_the_shapes_between_its_parts) {
    chain_graph_t g = graph_of({t::f32, t::f32, gate_t::gelu, 5});
    const auto expected = result_of(g);
    for (const chain_node_t &node : g.nodes)
        if (!dequantizes(node) && &node != &g.nodes.back())
            g.unshaped.push_back(node.outputs[0]);
    EXPECT_EQ(result_of(g), expected);
}

TEST(compound, lets_dst_be_any_and_tells_where_it_lies) {
    const chain_graph_t g = graph_of({t::f32, t::f32, gate_t::silu, 3});
    const partition p = compound_of(g);
    const size_t dst = g.nodes.back().outputs[0];
    const logical_tensor any(dst, logical_tensor::data_type::f32,
            DNNL_GRAPH_UNKNOWN_NDIMS, logical_tensor::layout_type::any);
    const auto compiled = p.compile(
            as_they_lie(g, p.get_input_ports()), {any}, cpu_engine());
    const logical_tensor told = compiled.query_logical_tensor(dst);
    EXPECT_EQ(told.get_dims(), dst_of(g).dims);
    EXPECT_EQ(told.get_strides(), support::dense_strides(dst_of(g).dims));
    // A value between parts is no port.
    EXPECT_EQ(status_of([&] {
        compiled.query_logical_tensor(g.nodes[1].outputs[0]);
    }),
            dnnl_invalid_arguments);
}

TEST(compound, writes_dst_with_gaps_and_nothing_between) {
    chain_graph_t g = graph_of({t::f32, t::f32, gate_t::relu, 3});
    const auto dense = result_of(g);
    support::tensor_t &dst = g.tensors[g.nodes.back().outputs[0]];
    const dim_t cols = dst.dims[1];
    dst.strides = {cols + 3, 1};
    const chain_values_t values = gated_values(g);
    auto *bytes = static_cast<unsigned char *>(values.back().data());
    std::fill_n(bytes, values.back().size(), static_cast<unsigned char>(0xa5));
    run(g, compound_of(g), values);
    for (dim_t row = 0; row < 3; ++row) {
        const auto *got = bytes + row * (cols + 3) * 4;
        EXPECT_EQ(std::memcmp(got, dense.data() + row * cols * 4,
                          static_cast<size_t>(cols) * 4),
                0)
                << row;
        for (dim_t gap = cols * 4; row < 2 && gap < (cols + 3) * 4; ++gap)
            EXPECT_EQ(got[gap], 0xa5) << row << ' ' << gap;
    }
}

TEST(compound, refuses_ports_that_do_not_fit) {
    const chain_graph_t g = graph_of(gated_mlp_t());
    const partition p = compound_of(g);
    const auto inputs = as_they_lie(g, p.get_input_ports());
    const auto outputs = as_they_lie(g, p.get_output_ports());
    for (size_t missing = 0; missing < inputs.size(); ++missing) {
        auto fewer = inputs;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(missing));
        EXPECT_EQ(status_of([&] { p.compile(fewer, outputs, cpu_engine()); }),
                dnnl_invalid_arguments)
                << missing;
    }
    EXPECT_EQ(status_of([&] { p.compile(inputs, {}, cpu_engine()); }),
            dnnl_invalid_arguments);
    auto wrong = outputs;
    wrong[0] = logical_tensor(outputs[0].get_id(),
            logical_tensor::data_type::f32, {7, 7},
            logical_tensor::layout_type::strided);
    EXPECT_EQ(status_of([&] { p.compile(inputs, wrong, cpu_engine()); }),
            dnnl_invalid_shape);
}

TEST(compound, writes_nothing_where_a_tensor_is_null) {
    const chain_graph_t g = graph_of(gated_mlp_t());
    const partition p = compound_of(g);
    const compiled_partition compiled = compiled_of(g, p);
    const chain_values_t values = gated_values(g);
    std::fill_n(static_cast<char *>(values.back().data()), values.back().size(),
            '\x5a');
    for (const logical_tensor &port : p.get_input_ports())
        EXPECT_EQ(execute(g, p, compiled,
                          [&](size_t id) {
            return id == port.get_id() ? nullptr : values[id].data();
        }),
                dnnl_invalid_arguments)
                << port.get_id();
    const auto *dst = static_cast<const char *>(values.back().data());
    EXPECT_EQ(std::count(dst, dst + values.back().size(), '\x5a'),
            static_cast<std::ptrdiff_t>(values.back().size()));
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
