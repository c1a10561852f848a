// Handles that end before others that were made with them, and new ones at the
// addresses of old ones.

#include <gtest/gtest.h>

#include <malloc.h>

#include "dnnl_dequant/dnnl_dequant.h"
#include "e2e/bad_input.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

constexpr int attempts = 50; // malloc soon gives an address again

TEST(lifetimes, of_engine_stream_and_graph_end_before_an_execution) {
    const auto c = grouped();
    compiled_partition compiled;
    {
        const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        const dnnl::stream stream(engine);
        compiled = partition_of(op_of(c)).compile(
                inputs_of(c), {strided(dst_id, c.dst)}, engine);
    }
    EXPECT_EQ(check_execution(c, compiled), "");
}

TEST(lifetimes, of_ops_end_before_their_graph_is_finalized) {
    const auto c = grouped();
    graph g(dnnl::engine::kind::cpu);
    {
        const op dequantize = op_of(c);
        g.add_op(dequantize);
    }
    // At the address of the other, perhaps.
    const op other(7, op::kind::ReLU, "other");
    g.finalize();
    const auto partitions = g.get_partitions();
    ASSERT_EQ(partitions.size(), 1u);
    EXPECT_EQ(check_execution(c, compile_or_throw(partitions[0], inputs_of(c),
                                         {strided(dst_id, c.dst)})),
            "");
}

TEST(lifetimes, a_new_op_has_nothing_of_an_old_one) {
    for (int n = 0; n < attempts; ++n) {
        {
            const op old = op_of(grouped());
        }
        const auto c = plain();
        op fresh(0, op::kind::DynamicDequantize, inputs_of(c),
                {strided(dst_id, c.dst)}, "fresh");
        const auto compiled = compile_or_throw(
                partition_of(fresh), inputs_of(c), {strided(dst_id, c.dst)});
        ASSERT_EQ(check_execution(c, compiled), "");
    }
}

// The logical tensor that a tensor says to have.
dnnl_graph_logical_tensor_t made_of(int type) {
    dnnl_graph_logical_tensor_t lt = {}, said = {};
    lt.ndims = 1;
    lt.dims[0] = lt.layout.strides[0] = 1;
    lt.layout_type = dnnl_graph_layout_type_strided;
    lt.data_type = static_cast<dnnl_data_type_t>(type);
    dnnl_graph_tensor_t tensor = nullptr;
    uint64_t value = 0;
    EXPECT_EQ(
            dnnl_graph_tensor_create(&tensor, &lt, cpu_engine().get(), &value),
            dnnl_success);
    EXPECT_EQ(
            dnnl_graph_tensor_get_logical_tensor(tensor, &said), dnnl_success);
    EXPECT_EQ(dnnl_graph_tensor_destroy(tensor), dnnl_success);
    return said;
}

TEST(lifetimes, a_new_tensor_has_nothing_of_an_old_one) {
    for (int n = 0; n < attempts; ++n)
        for (const int type : {static_cast<int>(dnnl_dequant_data_type_u16),
                     static_cast<int>(dnnl_u8)})
            ASSERT_EQ(made_of(type).data_type,
                    static_cast<dnnl_data_type_t>(type));
}

// Returns the bytes that malloc has given and not got back.
size_t bytes_in_use() {
    return mallinfo2().uordblks;
}

// A record kept of each op would be more than a megabyte in all.
TEST(lifetimes, of_ops_leave_no_memory_behind) {
    const auto make_some = [] {
        for (int n = 0; n < 10000; ++n) {
            dnnl_graph_op_t made = nullptr;
            ASSERT_EQ(dnnl_graph_op_create(&made, static_cast<size_t>(n),
                              dnnl_graph_op_relu, "an op of a long name"),
                    dnnl_success);
            ASSERT_EQ(dnnl_graph_op_destroy(made), dnnl_success);
        }
    };
    make_some();
    const size_t before = bytes_in_use();
    make_some();
    EXPECT_LT(bytes_in_use(), before + 100000);
}

TEST(lifetimes, of_compiled_partitions_leave_no_memory_behind) {
    const auto c = grouped();
    const partition p = partition_of(op_of(c));
    const auto compile_some = [&] {
        for (int n = 0; n < 2000; ++n)
            p.compile(inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    };
    compile_some();
    const size_t before = bytes_in_use();
    compile_some();
    EXPECT_LT(bytes_in_use(), before + 100000);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
