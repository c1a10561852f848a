// Partitions of ours seen through the standard API: ports, ids, policies,
// layouts, unknown shapes.

#include <gtest/gtest.h>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using layout_type = logical_tensor::layout_type;

dequantize_case_t grouped() {
    return per_group(dense_case({6, 40}, data_type_t::u4, data_type_t::bf16,
                             data_type_t::u4),
            {1, 16});
}

TEST(partitions, say_their_op_ports_and_kind) {
    const auto p = partition_of(op_of(grouped()));
    EXPECT_TRUE(p.is_supported());
    EXPECT_EQ(p.get_ops_num(), 1u);
    EXPECT_EQ(p.get_ops(), std::vector<size_t> {0});
    EXPECT_EQ(p.get_engine_kind(), dnnl::engine::kind::cpu);
    const auto inputs = p.get_input_ports();
    ASSERT_EQ(inputs.size(), 3u);
    EXPECT_EQ(inputs[0].get_id(), src_id);
    EXPECT_EQ(inputs[1].get_id(), scales_id);
    EXPECT_EQ(inputs[2].get_id(), zps_id);
    EXPECT_EQ(inputs[0].get_dims(), grouped().src.dims);
    const auto outputs = p.get_output_ports();
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].get_id(), dst_id);
}

TEST(partitions, are_of_graphs_that_are_made_with_an_fpmath_mode) {
    graph g(dnnl::engine::kind::cpu, dnnl::fpmath_mode::bf16);
    g.add_op(op_of(grouped()));
    g.finalize();
    const auto partitions = g.get_partitions();
    ASSERT_EQ(partitions.size(), 1u);
    EXPECT_EQ(check_execution(grouped(),
                      compile_or_throw(partitions[0], inputs_of(grouped()),
                              {strided(dst_id, grouped().dst)})),
            "");
}

TEST(partitions, have_no_inplace_ports_where_dst_is_wider) {
    const auto c = grouped();
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    EXPECT_TRUE(compiled.get_inplace_ports().empty());
}

TEST(partitions, are_made_of_one_op_too) {
    const auto c = grouped();
    partition p(op_of(c), dnnl::engine::kind::cpu);
    EXPECT_TRUE(p.is_supported());
    const auto compiled
            = p.compile(inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    EXPECT_EQ(check_kernel(c, compiled), "");
    EXPECT_EQ(check_execution(c, compiled), "");
}

TEST(partitions, are_made_under_the_debug_policy_too) {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(op_of(grouped()));
    g.finalize();
    const auto partitions = g.get_partitions(partition::policy::debug);
    ASSERT_EQ(partitions.size(), 1u);
    EXPECT_TRUE(partitions[0].is_supported());
}

TEST(partitions, are_the_same_each_time_they_are_asked_for) {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(op_of(grouped()));
    g.finalize();
    const auto first = g.get_partitions();
    const auto second = g.get_partitions();
    ASSERT_EQ(second.size(), 1u);
    EXPECT_TRUE(second[0].is_supported());
    EXPECT_EQ(first[0].get_ops(), second[0].get_ops());
}

// The shapes that the graph was built with, and what is given at compile.
struct build_time_t {
    const char *name;
    std::function<logical_tensor(size_t, const support::tensor_t &)> input;
    std::function<logical_tensor(size_t, const support::tensor_t &)> output;
};

logical_tensor with_unknown_dims(size_t id, const support::tensor_t &t) {
    return logical_tensor(id, type_of(t.type),
            dims_t(t.dims.size(), DNNL_GRAPH_UNKNOWN_DIM),
            layout_type::strided);
}

logical_tensor of_any_layout(size_t id, const support::tensor_t &t) {
    return logical_tensor(id, type_of(t.type), t.dims, layout_type::any);
}

class unknown_at_build : public ::testing::TestWithParam<build_time_t> {};

TEST_P(unknown_at_build, is_known_at_compile) {
    for (const auto &c : {grouped(),
                 per_channel(dense_case({3, 5, 7}, data_type_t::s8,
                                     data_type_t::f16, data_type_t::s32),
                         -1),
                 dense_case({9}, data_type_t::u8, data_type_t::f32)}) {
        op dequantize = bare_op(c);
        dequantize.add_inputs({GetParam().input(src_id, c.src),
                GetParam().input(scales_id, c.scales)});
        if (c.zps.present())
            dequantize.add_input(GetParam().input(zps_id, c.zps));
        dequantize.add_output(GetParam().output(dst_id, c.dst));
        auto p = partition_of(dequantize);
        ASSERT_TRUE(p.is_supported());
        const auto compiled = p.compile(
                inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
        EXPECT_EQ(check_kernel(c, compiled), "");
        EXPECT_EQ(check_execution(c, compiled), "") << to_string(c);
    }
}

INSTANTIATE_TEST_SUITE_P(partitions, unknown_at_build,
        ::testing::Values(build_time_t {"rank", of_type_only, of_type_only},
                build_time_t {"dims", with_unknown_dims, with_unknown_dims},
                build_time_t {"strides", of_rank_only, of_rank_only},
                build_time_t {"dst_layout", strided, of_any_layout},
                build_time_t {"dst_only", strided, of_type_only}),
        [](const auto &param_info) {
            return std::string(param_info.param.name);
        });

// dst as `given` at compile; executed as the library then says it lies.
void expect_inferred(dequantize_case_t c, const logical_tensor &given) {
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {given}, cpu_engine());
    const logical_tensor inferred = compiled.query_logical_tensor(dst_id);
    ASSERT_EQ(inferred.get_dims(), c.src.dims);
    ASSERT_EQ(inferred.get_layout_type(), layout_type::strided);
    c.dst.strides = inferred.get_strides();
    EXPECT_EQ(inferred.get_mem_size(), c.dst.bytes());
    EXPECT_EQ(check_execution(c, compiled), "") << to_string(c);
}

TEST(inferred_dst, has_shape_and_strides_after_compile) {
    const auto c = grouped();
    expect_inferred(c, of_type_only(dst_id, c.dst));
    expect_inferred(c, of_rank_only(dst_id, c.dst));
    expect_inferred(c, with_unknown_dims(dst_id, c.dst));
    expect_inferred(c, of_any_layout(dst_id, c.dst));
    expect_inferred(
            c, logical_tensor(dst_id, type_of(c.dst.type), layout_type::any));
}

TEST(inferred_dst, of_any_layout_is_executable_for_a_transposed_src) {
    auto c = grouped();
    c.src.strides = {1, 6};
    expect_inferred(c, of_any_layout(dst_id, c.dst));
    c.src.strides = {1, 8};
    expect_inferred(c, of_any_layout(dst_id, c.dst));
}

TEST(inferred_dst, of_strided_layout_is_row_major) {
    auto c = grouped();
    c.src.strides = {1, 6};
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {of_rank_only(dst_id, c.dst)}, cpu_engine());
    EXPECT_EQ(compiled.query_logical_tensor(dst_id).get_strides(),
            support::dense_strides(c.dst.dims));
}

TEST(inferred_dst, inputs_can_be_queried_as_well) {
    const auto c = grouped();
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    EXPECT_EQ(
            compiled.query_logical_tensor(src_id).get_strides(), c.src.strides);
    EXPECT_EQ(
            compiled.query_logical_tensor(scales_id).get_dims(), c.scales.dims);
}

TEST(partitions, compile_for_one_shape_after_another) {
    auto c = grouped();
    op dequantize = bare_op(c);
    dequantize.add_inputs({of_type_only(src_id, c.src),
            of_type_only(scales_id, c.scales), of_type_only(zps_id, c.zps)});
    dequantize.add_output(of_type_only(dst_id, c.dst));
    auto p = partition_of(dequantize);
    for (const dim_t rows : {1, 2, 33}) {
        c = per_group(dense_case({rows, 40}, data_type_t::u4, data_type_t::bf16,
                              data_type_t::u4),
                {1, 16});
        const auto compiled = p.compile(
                inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
        EXPECT_EQ(check_execution(c, compiled), "") << to_string(c);
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
