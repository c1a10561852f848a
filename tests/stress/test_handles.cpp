// Records beside oneDNN's handles end with them. Many live at once, so that a
// record that stays is not replaced by the next one at its address.

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.h"
#include "e2e/dequantize_graph.hpp"
#include "stress/process_memory.hpp"

namespace dnnl_dequant {
namespace stress {
namespace {

/// Makes so many handles, and then destroys them all.
using round_t = std::function<void(size_t)>;

template <typename T>
round_t round_of(const std::function<T()> &make, dnnl_status_t (*destroy)(T)) {
    return [=](size_t count) {
        std::vector<T> made;
        for (size_t n = 0; n < count; ++n)
            made.push_back(make());
        for (const T handle : made)
            EXPECT_EQ(destroy(handle), dnnl_success);
    };
}

/// Rounds leave less than a record of each handle behind.
void expect_freed(const round_t &round, long bytes_of_a_record = 64) {
    constexpr size_t few = 500, many = 4500;
    round(few); // what is kept for later comes with the first
    const long before = process_memory().heap_kib;
    round(many);
    // A sanitizer's malloc tells no figure. Its own search for leaks judges
    // then.
    const long after = process_memory().heap_kib;
    if (before == 0)
        std::printf(
                "malloc tells no figure: leaks are left to the sanitizer\n");
    else EXPECT_LT(after - before, long(many - few) * bytes_of_a_record / 1024);
}

dnnl_graph_logical_tensor_t row(dnnl_dequant_data_type_t type) {
    dnnl_graph_logical_tensor_t lt = {};
    lt.ndims = 1;
    lt.dims[0] = lt.layout.strides[0] = 1;
    lt.layout_type = dnnl_graph_layout_type_strided;
    lt.data_type = static_cast<dnnl_data_type_t>(type);
    return lt;
}

support::dequantize_case_t small_case() {
    return e2e::dense_case({4, 6}, data_type_t::s8, data_type_t::f32);
}

TEST(stress_handles, of_ops_leave_nothing) {
    expect_freed(round_of<dnnl_graph_op_t>([] {
        dnnl_graph_op_t op = nullptr;
        EXPECT_EQ(dnnl_graph_op_create(&op, 0, dnnl_graph_op_relu, "relu"),
                dnnl_success);
        return op;
    }, &dnnl_graph_op_destroy));
}

TEST(stress_handles, of_tensors_leave_nothing) {
    static uint64_t value;
    const auto lt = row(dnnl_dequant_data_type_u16);
    const auto engine = e2e::cpu_engine();
    expect_freed(round_of<dnnl_graph_tensor_t>([&] {
        dnnl_graph_tensor_t tensor = nullptr;
        EXPECT_EQ(dnnl_graph_tensor_create(&tensor, &lt, engine.get(), &value),
                dnnl_success);
        return tensor;
    }, &dnnl_graph_tensor_destroy));
}

TEST(stress_handles, of_graphs_leave_nothing) {
    const auto op = e2e::op_of(small_case());
    expect_freed(round_of<dnnl_graph_graph_t>(
                         [&] {
        dnnl_graph_graph_t graph = nullptr;
        EXPECT_EQ(dnnl_graph_graph_create(&graph, dnnl_cpu), dnnl_success);
        EXPECT_EQ(dnnl_graph_add_op(graph, op.get()), dnnl_success);
        EXPECT_EQ(dnnl_graph_graph_finalize(graph), dnnl_success);
        return graph;
    }, &dnnl_graph_graph_destroy),
            128);
}

TEST(stress_handles, of_partitions_leave_nothing) {
    dnnl_graph_graph_t graph = nullptr;
    ASSERT_EQ(dnnl_graph_graph_create(&graph, dnnl_cpu), dnnl_success);
    const auto op = e2e::op_of(small_case());
    ASSERT_EQ(dnnl_graph_add_op(graph, op.get()), dnnl_success);
    ASSERT_EQ(dnnl_graph_graph_finalize(graph), dnnl_success);
    ASSERT_EQ(
            dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion),
            dnnl_success);
    expect_freed(round_of<dnnl_graph_partition_t>([&] {
        dnnl_graph_partition_t partition = nullptr;
        EXPECT_EQ(dnnl_graph_graph_get_partitions(graph, 1, &partition),
                dnnl_success);
        return partition;
    }, &dnnl_graph_partition_destroy));
    EXPECT_EQ(dnnl_graph_graph_destroy(graph), dnnl_success);
}

TEST(stress_handles, of_compiled_partitions_leave_nothing) {
    const auto c = small_case();
    const auto partition = e2e::partition_of(e2e::op_of(c));
    std::vector<dnnl_graph_logical_tensor_t> lts;
    for (const auto &lt : e2e::inputs_of(c))
        lts.push_back(
                *reinterpret_cast<const dnnl_graph_logical_tensor_t *>(&lt));
    const auto dst = e2e::strided(e2e::dst_id, c.dst);
    const auto *const out
            = reinterpret_cast<const dnnl_graph_logical_tensor_t *>(&dst);
    std::vector<const dnnl_graph_logical_tensor_t *> in;
    for (const auto &lt : lts)
        in.push_back(&lt);
    const auto engine = e2e::cpu_engine();
    expect_freed(round_of<dnnl_graph_compiled_partition_t>([&] {
        dnnl_graph_compiled_partition_t compiled = nullptr;
        EXPECT_EQ(dnnl_graph_compiled_partition_create(
                          &compiled, partition.get()),
                dnnl_success);
        const dnnl_graph_logical_tensor_t *outputs[1] = {out};
        EXPECT_EQ(dnnl_graph_partition_compile(partition.get(), compiled,
                          in.size(), in.data(), 1, outputs, engine.get()),
                dnnl_success);
        return compiled;
    }, &dnnl_graph_compiled_partition_destroy));
}

} // namespace
} // namespace stress
} // namespace dnnl_dequant
