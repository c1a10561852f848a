// Shapes at the ends of what the API knows, and those of real models.

#include <gtest/gtest.h>

#include <algorithm>

#include "e2e/attention_graph.hpp"
#include "e2e/dequantize_graph.hpp"
#include "e2e/matmul_graph.hpp"
#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.h"

namespace dnnl_dequant {
namespace e2e {
namespace {

const data_type_t sources[]
        = {data_type_t::s8, data_type_t::u8, data_type_t::s4, data_type_t::u4};

TEST(shapes, of_rank_zero) {
    for (const auto src : sources) {
        auto c = dense_case({}, src, data_type_t::f32, data_type_t::s32);
        EXPECT_EQ(check_case(c), "") << to_string(c);
        // Scales and zps may be scalars too.
        c.scales.dims = c.scales.strides = c.zps.dims = c.zps.strides = {};
        EXPECT_EQ(check_case(c), "") << to_string(c);
    }
}

// Compile may give other shapes than the graph was built with.
TEST(shapes, at_compile_other_than_those_of_the_graph) {
    for (const data_type_t type : {data_type_t::f32, data_type_t::bf16})
        for (const bool has_product : {false, true})
            for (const bool has_chain : {false, true}) {
                const auto graph_with = [&](dim_t rows, dim_t depth) {
                    matmul_case_t c;
                    c.type = type;
                    c.src = {rows, depth};
                    c.weights = {depth, 2 * rows};
                    c.group = -1;
                    chain_graph_t g = graph_of(c);
                    dims_t shape {rows, 2 * rows};
                    if (!has_product) {
                        g.nodes.resize(1);
                        g.tensors.resize(g.nodes[0].outputs[0] + 1);
                        shape = c.weights;
                    }
                    if (!has_chain) return g;
                    g = with(g, {op::kind::ReLU, {}, {}}, type, shape);
                    return with(g, {op::kind::TypeCast, {}, {}},
                            type == data_type_t::f32 ? data_type_t::bf16
                                                     : data_type_t::f32,
                            shape);
                };
                const partition p = only_partition(graph_with(4, 64));
                for (const auto &[rows, depth] :
                        std::vector<std::pair<dim_t, dim_t>> {
                                {9, 64}, {4, 48}, {33, 32}}) {
                    const chain_graph_t g = graph_with(rows, depth);
                    SCOPED_TRACE(to_string(g));
                    const chain_values_t expected = exact_values(g, 1);
                    const chain_values_t got = exact_values(g, 1);
                    compute_exactly(g, expected);
                    EXPECT_NE(run(g, p, got), "");
                    const size_t dst = g.nodes.back().outputs[0];
                    EXPECT_EQ(support::difference(g.tensors[dst].type,
                                      expected[dst].data(), got[dst].data(),
                                      g.tensors[dst].span()),
                            "");
                }
            }
}

// The graph, with one extent unknown wherever it occurs.
chain_graph_t without_extent(chain_graph_t g, dim_t extent) {
    for (auto &tensor : g.tensors)
        std::replace(tensor.dims.begin(), tensor.dims.end(), extent,
                dim_t(DNNL_GRAPH_UNKNOWN_DIM));
    return g;
}

// Products and attention are taken before the numbers of rows and of tokens are
// known.
TEST(shapes, of_products_that_are_unknown_at_build) {
    const auto graph_with = [](dim_t rows) {
        matmul_case_t c;
        c.src = {2, rows, 64};
        c.weights = {64, 96};
        c.group = 32;
        c.bias = true;
        chain_graph_t g = with(graph_of(c), {op::kind::ReLU, {}, {}},
                data_type_t::f32, {2, rows, 96});
        const size_t residual = add_tensor(g, data_type_t::f32, {2, rows, 96});
        return with(g, {op::kind::Add, {}, {}}, data_type_t::f32, {2, rows, 96},
                {residual});
    };
    const partition p = only_partition(without_extent(graph_with(17), 17));
    for (const dim_t rows : {17, 1, 8, 300}) {
        const chain_graph_t g = graph_with(rows);
        const chain_values_t expected = exact_values(g, 1);
        const chain_values_t got = exact_values(g, 1);
        compute_exactly(g, expected);
        EXPECT_NE(run(g, p, got).find("matmul"), std::string::npos);
        const size_t dst = g.nodes.back().outputs[0];
        EXPECT_EQ(support::difference(data_type_t::f32, expected[dst].data(),
                          got[dst].data(), g.tensors[dst].span()),
                "")
                << rows << " rows";
    }
    // The residual broadcasts the product.
    chain_graph_t g = graph_with(1);
    const chain_node_t &add = g.nodes.back();
    for (const size_t id : {add.inputs[1], add.outputs[0]}) {
        g.tensors[id].dims = {2, 5, 96};
        g.tensors[id].strides = {5 * 96, 96, 1};
    }
    const chain_values_t values = exact_values(g, 1);
    EXPECT_NE(run(g, p, values), "");
    for (const auto &buffer : values)
        EXPECT_TRUE(buffer.intact());
}

TEST(shapes, of_attention_that_are_unknown_at_build) {
    attention_case_t c = plain_attention();
    c.addend = extent_t::tokens;
    c.tokens = 77;
    const partition p
            = only_partition(without_extent(graph_of(c).ops, c.tokens));
    for (const dim_t tokens : {77, 1, 600, 33}) {
        c.tokens = tokens;
        const attention_graph_t g = graph_of(c);
        const chain_values_t values = values_of(c, g);
        EXPECT_EQ(run(g.ops, p, values).rfind("attention_", 0), 0u);
        EXPECT_EQ(
                difference(c, g, answer_of(g, values), values[g.dst()].data()),
                "")
                << to_string(c);
    }
}

TEST(shapes, of_every_rank_to_twelve) {
    for (size_t rank = 1; rank <= 12; ++rank) {
        dims_t dims(rank, 1), groups(rank, 1);
        for (size_t d = 0; d < rank; ++d) {
            dims[d] = rank < 6 || d % 3 == 1 ? 3 : 2;
            groups[d] = d % 2 ? 2 : 1;
        }
        for (const auto src : sources) {
            const auto c
                    = dense_case(dims, src, data_type_t::bf16, data_type_t::u4);
            EXPECT_EQ(check_case(c), "") << to_string(c);
            for (const dim_t axis : {dim_t {0}, dim_t {-1}}) {
                const auto channels = per_channel(c, axis);
                EXPECT_EQ(check_case(channels), "") << to_string(channels);
            }
            const auto grouped = per_group(c, groups);
            EXPECT_EQ(check_case(grouped), "") << to_string(grouped);
        }
    }
}

TEST(shapes, of_rank_twelve_grouped_on_every_dimension) {
    dims_t dims(12, 2), groups(12, 2);
    dims[3] = dims[7] = dims[11] = 3;
    groups[0] = groups[5] = 1;
    const auto c = per_group(dense_case(dims, data_type_t::u4, data_type_t::f16,
                                     data_type_t::s4),
            groups);
    EXPECT_EQ(check_case(c), "") << to_string(c);
}

TEST(shapes, channels_at_every_axis_counted_from_either_end) {
    const dims_t dims {3, 4, 5, 6};
    for (dim_t axis = -4; axis < 4; ++axis) {
        const auto c = per_channel(dense_case(dims, data_type_t::s8,
                                           data_type_t::f32, data_type_t::u8),
                axis);
        EXPECT_EQ(check_case(c), "") << to_string(c);
    }
}

TEST(shapes, channels_share_a_single_zero_point) {
    for (dim_t axis = -2; axis < 2; ++axis) {
        auto c = per_channel(dense_case({9, 35}, data_type_t::u8,
                                     data_type_t::f16, data_type_t::s32),
                axis);
        c.zps.dims = c.zps.strides = {1};
        EXPECT_EQ(check_case(c), "") << to_string(c);
    }
}

TEST(shapes, groups_of_every_size_on_the_last_dimension) {
    for (dim_t group = 1; group <= 19; ++group) {
        const auto c = per_group(dense_case({3, 19}, data_type_t::s4,
                                         data_type_t::f32, data_type_t::s4),
                {1, group});
        EXPECT_EQ(check_case(c), "") << to_string(c);
    }
}

TEST(shapes, groups_that_do_not_divide_two_dimensions) {
    const auto c = per_group(dense_case({10, 4, 75}, data_type_t::u4,
                                     data_type_t::bf16, data_type_t::u4),
            {4, 1, 32});
    EXPECT_EQ(check_case(c), "") << to_string(c);
}

TEST(shapes, defaults_are_per_tensor) {
    const auto c = dense_case({5, 5}, data_type_t::u8, data_type_t::f32);
    op dequantize(0, op::kind::DynamicDequantize, "no_attributes");
    dequantize.add_inputs(inputs_of(c));
    dequantize.add_outputs({strided(dst_id, c.dst)});
    const auto compiled
            = partition_of(dequantize)
                      .compile(inputs_of(c), {strided(dst_id, c.dst)},
                              cpu_engine());
    EXPECT_EQ(check_execution(c, compiled), "");
    EXPECT_NE(kernel_of(compiled), "");
}

TEST(shapes, channels_default_to_axis_one) {
    const auto c = per_channel(dense_case({3, 4, 5}, data_type_t::u8,
                                       data_type_t::f32, data_type_t::s8),
            1);
    op dequantize(0, op::kind::DynamicDequantize, "no_axis");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_channel");
    dequantize.add_inputs(inputs_of(c));
    dequantize.add_outputs({strided(dst_id, c.dst)});
    const auto compiled
            = partition_of(dequantize)
                      .compile(inputs_of(c), {strided(dst_id, c.dst)},
                              cpu_engine());
    EXPECT_EQ(check_execution(c, compiled), "");
}

TEST(empty_tensors, compile_and_execute_as_nothing) {
    for (const auto &dims : std::vector<dims_t> {{0}, {3, 0}, {0, 3, 4}}) {
        const auto plain = dense_case(dims, data_type_t::u4, data_type_t::f32);
        EXPECT_EQ(check_case(plain), "") << to_string(plain);
    }
    const auto grouped = per_group(dense_case({0, 16}, data_type_t::s4,
                                           data_type_t::f16, data_type_t::s4),
            {1, 8});
    EXPECT_EQ(check_case(grouped), "") << to_string(grouped);
    const auto channels
            = per_channel(dense_case({0, 5}, data_type_t::s8, data_type_t::f32,
                                  data_type_t::s8),
                    1);
    EXPECT_EQ(check_case(channels), "") << to_string(channels);
}

TEST(empty_tensors, need_no_data) {
    const auto c = dense_case({0, 7}, data_type_t::s8, data_type_t::f32);
    const auto compiled = partition_of(op_of(c)).compile(
            inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    float scale = 1;
    compiled.execute(cpu_stream(),
            {tensor(strided(src_id, c.src), cpu_engine(), nullptr),
                    tensor(strided(scales_id, c.scales), cpu_engine(), &scale)},
            {tensor(strided(dst_id, c.dst), cpu_engine(), nullptr)});
}

// oneDNN's public graph corpus has seven graphs of a DynamicDequantize alone,
// in three float types. One has s8 channels of a convolution's weights. The
// others have groups of eight along the fastest dimension of transposed s4 and
// u4 keys.
dequantize_case_t corpus_keys(data_type_t src, data_type_t dst) {
    auto c = per_group(
            dense_case({1, 32, 128, 32}, src, dst, src), {1, 1, 8, 1});
    c.src.strides = {131072, 4096, 1, 128};
    return c;
}

TEST(corpus, channels_of_convolution_weights) {
    const auto c = per_channel(
            dense_case({2, 64, 3, 3}, data_type_t::s8, data_type_t::f32), 1);
    EXPECT_EQ(check_case(c), "") << to_string(c);
}

TEST(corpus, groups_of_transposed_keys) {
    for (const auto src : {data_type_t::s4, data_type_t::u4})
        for (const auto dst :
                {data_type_t::f32, data_type_t::bf16, data_type_t::f16}) {
            const auto c = corpus_keys(src, dst);
            EXPECT_EQ(check_case(c), "") << to_string(c);
        }
}

// The same with what the files say besides the op: an axis that per_group has
// no use for, an fpmath mode that applies to integers, properties.
TEST(corpus, groups_with_axis_and_fpmath_mode) {
    const auto c = corpus_keys(data_type_t::u4, data_type_t::bf16);
    op dequantize = op_of(c);
    dequantize.set_attr<int64_t>(op::attr::axis, 2);
    graph g(dnnl::engine::kind::cpu);
    g.set_fpmath_mode(dnnl::fpmath_mode::bf16, true);
    g.add_op(dequantize);
    g.finalize();
    const auto partitions = g.get_partitions();
    ASSERT_EQ(partitions.size(), 1u);
    ASSERT_TRUE(partitions[0].is_supported());
    const auto compiled = partitions[0].compile(
            inputs_of(c), {strided(dst_id, c.dst)}, cpu_engine());
    EXPECT_EQ(check_kernel(c, compiled), "");
    EXPECT_EQ(check_execution(c, compiled), "");
}

TEST(shapes_large, are_for_threads_and_streaming_stores) {
    // 24 MiB of f32; rows that are no multiple of a vector.
    for (const auto src : {data_type_t::u8, data_type_t::s4}) {
        auto c = per_group(dense_case({3001, 2051}, src, data_type_t::f32,
                                   data_type_t::u4),
                {1, 128});
        EXPECT_EQ(check_case(c), "") << to_string(c);
        c.src.strides = {1, 3001};
        EXPECT_EQ(check_case(c), "") << to_string(c);
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
