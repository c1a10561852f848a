// Null where the C API wants a handle: a status, never a crash.

#include <gtest/gtest.h>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

class bad_handles : public ::testing::Test {
protected:
    const dequantize_case_t c_ = dense_case(
            {4, 6}, data_type_t::s8, data_type_t::f32, data_type_t::s8);
    partition partition_ = partition_of(op_of(c_));
    const compiled_partition compiled_ = partition_.compile(
            inputs_of(c_), {strided(dst_id, c_.dst)}, cpu_engine());
};

TEST_F(bad_handles, of_ops_and_graphs) {
    dnnl_graph_op_t made = nullptr;
    ASSERT_EQ(dnnl_graph_op_create(&made, 3, dnnl_graph_op_relu, "relu"),
            dnnl_success);
    const int64_t value = 1;
    EXPECT_EQ(dnnl_graph_op_add_input(made, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(
            dnnl_graph_op_add_output(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_op_set_attr_s64(
                      nullptr, dnnl_graph_op_attr_axis, &value, 1),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_op_set_attr_s64(
                      made, dnnl_graph_op_attr_axis, nullptr, 1),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_add_op(nullptr, made), dnnl_invalid_arguments);
    dnnl_graph_partition_t part = nullptr;
    const auto op = op_of(c_);
    for (const auto &[to, of] : {std::pair(&part, dnnl_graph_op_t(nullptr)),
                 std::pair((dnnl_graph_partition_t *)nullptr, op.get())})
        EXPECT_EQ(dnnl_graph_partition_create_with_op(to, of, dnnl_cpu),
                dnnl_invalid_arguments);
    dnnl_graph_graph_t graph = nullptr;
    ASSERT_EQ(dnnl_graph_graph_create(&graph, dnnl_cpu), dnnl_success);
    EXPECT_EQ(dnnl_graph_add_op(graph, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_graph_finalize(nullptr), dnnl_invalid_arguments);
    EXPECT_NE(dnnl_graph_graph_filter(
                      nullptr, dnnl_graph_partition_policy_fusion),
            dnnl_success);
    EXPECT_EQ(dnnl_graph_op_destroy(made), dnnl_success);
    EXPECT_EQ(dnnl_graph_graph_destroy(graph), dnnl_success);
    dnnl_graph_tensor_t tensor = nullptr;
    EXPECT_EQ(dnnl_graph_tensor_create(
                      &tensor, nullptr, cpu_engine().get(), nullptr),
            dnnl_invalid_arguments);
}

TEST_F(bad_handles, where_answers_go) {
    const auto p = partition_.get();
    EXPECT_EQ(dnnl_graph_partition_get_op_num(p, nullptr),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_ops(p, 1, nullptr),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_id(p, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_input_ports_num(p, nullptr),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_input_ports(p, 3, nullptr),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_is_supported(p, nullptr),
            dnnl_invalid_arguments);
    dnnl_graph_logical_tensor_t ports[2];
    EXPECT_EQ(dnnl_graph_partition_get_input_ports(p, 2, ports),
            dnnl_invalid_arguments);
    size_t ids[2];
    EXPECT_EQ(dnnl_graph_partition_get_ops(p, 2, ids), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_query_logical_tensor(
                      compiled_.get(), dst_id, nullptr),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_query_logical_tensor(
                      compiled_.get(), 42, ports),
            dnnl_invalid_arguments);
    size_t count = 0;
    const dnnl_graph_inplace_pair_t *pairs = nullptr;
    for (const bool counts : {false, true})
        EXPECT_EQ(
                dnnl_graph_compiled_partition_get_inplace_ports(compiled_.get(),
                        counts ? &count : nullptr, counts ? nullptr : &pairs),
                dnnl_invalid_arguments);
}

TEST_F(bad_handles, of_compile) {
    const auto inputs = inputs_of(c_);
    dnnl_graph_logical_tensor_t lts[4];
    const dnnl_graph_logical_tensor_t *in[3], *out[1] = {&lts[3]};
    for (size_t i = 0; i < 3; ++i) {
        lts[i] = *reinterpret_cast<const dnnl_graph_logical_tensor_t *>(
                &inputs[i]);
        in[i] = &lts[i];
    }
    const auto dst = strided(dst_id, c_.dst);
    lts[3] = *reinterpret_cast<const dnnl_graph_logical_tensor_t *>(&dst);
    const auto engine = cpu_engine().get();
    const auto p = partition_.get();
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ASSERT_EQ(dnnl_graph_compiled_partition_create(&compiled, p), dnnl_success);
    // It has no ports yet.
    size_t count = 7;
    const dnnl_graph_inplace_pair_t *pairs = nullptr;
    EXPECT_EQ(dnnl_graph_compiled_partition_get_inplace_ports(
                      compiled, &count, &pairs),
            dnnl_success);
    EXPECT_EQ(count, 0u);
    const auto compile = [&](dnnl_graph_partition_t partition,
                                 dnnl_graph_compiled_partition_t to,
                                 const dnnl_graph_logical_tensor_t **inputs_of,
                                 dnnl_engine_t on) {
        return dnnl_graph_partition_compile(
                partition, to, 3, inputs_of, 1, out, on);
    };
    EXPECT_EQ(compile(nullptr, compiled, in, engine), dnnl_invalid_arguments);
    EXPECT_EQ(compile(p, nullptr, in, engine), dnnl_invalid_arguments);
    EXPECT_EQ(compile(p, compiled, nullptr, engine), dnnl_invalid_arguments);
    EXPECT_EQ(compile(p, compiled, in, nullptr), dnnl_invalid_arguments);
    in[1] = nullptr;
    EXPECT_EQ(compile(p, compiled, in, engine), dnnl_invalid_arguments);
    in[1] = &lts[1];
    // A partition that was never compiled does not run.
    EXPECT_NE(dnnl_graph_compiled_partition_execute(
                      compiled, cpu_stream().get(), 0, nullptr, 0, nullptr),
            dnnl_success);
    EXPECT_EQ(compile(p, compiled, in, engine), dnnl_success);
    EXPECT_EQ(dnnl_graph_compiled_partition_destroy(compiled), dnnl_success);
    EXPECT_EQ(dnnl_graph_compiled_partition_create(nullptr, p),
            dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_create(&compiled, nullptr),
            dnnl_invalid_arguments);
}

TEST_F(bad_handles, of_execute) {
    const auto run = [](const_dnnl_graph_compiled_partition_t compiled,
                             dnnl_stream_t stream) {
        const_dnnl_graph_tensor_t none[1] = {nullptr};
        return dnnl_graph_compiled_partition_execute(
                compiled, stream, 1, none, 1, none);
    };
    EXPECT_EQ(run(nullptr, cpu_stream().get()), dnnl_invalid_arguments);
    EXPECT_EQ(run(compiled_.get(), nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(run(compiled_.get(), cpu_stream().get()), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_execute(compiled_.get(),
                      cpu_stream().get(), 3, nullptr, 1, nullptr),
            dnnl_invalid_arguments);
}

TEST_F(bad_handles, of_destroy_are_nothing) {
    EXPECT_EQ(dnnl_graph_partition_destroy(nullptr), dnnl_success);
    EXPECT_EQ(dnnl_graph_compiled_partition_destroy(nullptr), dnnl_success);
    EXPECT_EQ(dnnl_graph_op_destroy(nullptr), dnnl_success);
    EXPECT_EQ(dnnl_graph_graph_destroy(nullptr), dnnl_success);
    EXPECT_EQ(dnnl_graph_tensor_destroy(nullptr), dnnl_success);
}

TEST_F(bad_handles, are_left_working) {
    EXPECT_EQ(check_execution(c_, compiled_), "");
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
