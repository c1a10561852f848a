// Ops and graphs that are refused when they are built.

#include <gtest/gtest.h>

#include "e2e/bad_input.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

void expect_add_op_fails(
        const op &dequantize, dnnl_status_t expected, const words_t &words) {
    graph g(dnnl::engine::kind::cpu);
    expect_failure([&] { g.add_op(dequantize); }, expected, words);
    // The graph is as before: an op of the same id still goes in.
    g.add_op(op_of(plain()));
    g.finalize();
    EXPECT_EQ(g.get_partitions().size(), 1u);
}

void expect_add_op_fails(const dequantize_case_t &c, dnnl_status_t expected,
        const words_t &words) {
    expect_add_op_fails(op_of(c), expected, words);
}

TEST(bad_input_op, group_shape_of_another_rank) {
    auto c = grouped();
    c.group_shape = {1, 8, 1};
    expect_add_op_fails(c, dnnl_invalid_graph_op,
            {"group_shape", "3 entries", "expected 2"});
    c.group_shape = {8};
    expect_add_op_fails(c, dnnl_invalid_graph_op,
            {"group_shape", "1 entries", "expected 2"});
}

TEST(bad_input_op, group_shape_with_zero_or_less) {
    auto c = grouped();
    for (const dim_t group : {0, -1, -8}) {
        c.group_shape = {1, group};
        expect_add_op_fails(c, dnnl_invalid_graph_op,
                {"group_shape", std::to_string(group), "expected positive"});
    }
}

TEST(bad_input_op, group_shape_missing) {
    const auto c = grouped();
    op dequantize(0, op::kind::DynamicDequantize, "dequantize_under_test");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
    dequantize.add_inputs(inputs_of(c));
    dequantize.add_outputs({strided(dst_id, c.dst)});
    expect_add_op_fails(dequantize, dnnl_invalid_graph_op,
            {"per_group", "group_shape is missing"});
}

TEST(bad_input_op, axis_out_of_range) {
    for (const dim_t axis : {2, 7, -3}) {
        auto c = per_channel(plain(), 1);
        c.axis = axis;
        op dequantize = bare_op(c);
        dequantize.add_inputs(inputs_of(plain()));
        dequantize.add_outputs({strided(dst_id, c.dst)});
        expect_add_op_fails(dequantize, dnnl_invalid_graph_op,
                {"axis is " + std::to_string(axis), "expected", "[-2 .. 1]"});
    }
}

TEST(bad_input_op, unknown_qtype) {
    op dequantize(0, op::kind::DynamicDequantize, "dequantize_under_test");
    dequantize.set_attr<std::string>(op::attr::qtype, "per_row");
    dequantize.add_inputs(inputs_of(plain()));
    dequantize.add_outputs({strided(dst_id, plain().dst)});
    expect_add_op_fails(dequantize, dnnl_invalid_graph_op,
            {"qtype is \"per_row\"", "expected one of per_tensor"});
}

TEST(bad_input_op, types_that_do_not_belong) {
    auto c = plain();
    c.src.type = data_type_t::f32;
    expect_add_op_fails(
            c, dnnl_invalid_graph_op, {"src", "f32", "expected one of s8 u8"});
    c = plain();
    c.scales.type = data_type_t::s8;
    expect_add_op_fails(
            c, dnnl_invalid_graph_op, {"scales", "s8", "expected one of f32"});
    c = plain();
    c.zps.type = data_type_t::f32;
    expect_add_op_fails(c, dnnl_invalid_graph_op, {"zps", "f32", "expected"});
    c = plain();
    c.dst.type = data_type_t::s8;
    expect_add_op_fails(
            c, dnnl_invalid_graph_op, {"dst", "s8", "expected one of f32"});
    c = plain();
    c.src.type = static_cast<data_type_t>(99);
    expect_add_op_fails(c, dnnl_invalid_graph_op, {"src", "99", "expected"});
}

TEST(bad_input_op, too_few_or_too_many_tensors) {
    const auto c = plain();
    op one(0, op::kind::DynamicDequantize, "dequantize_under_test");
    one.add_inputs({strided(src_id, c.src)});
    one.add_outputs({strided(dst_id, c.dst)});
    expect_add_op_fails(
            one, dnnl_invalid_graph_op, {"1 inputs", "expected 2 to 3"});
    op four = op_of(c);
    four.add_input(strided(17, c.zps));
    expect_add_op_fails(
            four, dnnl_invalid_graph_op, {"4 inputs", "expected 2 to 3"});
    op no_output(0, op::kind::DynamicDequantize, "dequantize_under_test");
    no_output.add_inputs(inputs_of(c));
    expect_add_op_fails(
            no_output, dnnl_invalid_graph_op, {"0 outputs", "expected 1"});
}

TEST(bad_input_graph, added_to_after_finalize) {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(op_of(plain()));
    g.finalize();
    EXPECT_EQ(status_of([&] { g.add_op(op_of(plain())); }), dnnl_invalid_graph);
    EXPECT_EQ(g.get_partitions().size(), 1u);
}

TEST(bad_input_graph, asked_for_partitions_before_finalize) {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(op_of(plain()));
    EXPECT_EQ(status_of([&] { g.get_partitions(); }), dnnl_invalid_graph);
}

// oneDNN lets it pass; so do we.
TEST(bad_input_graph, finalized_twice) {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(op_of(plain()));
    g.finalize();
    const auto ours = status_of([&] { g.finalize(); });
    set_plugin_enabled(false);
    graph stock(dnnl::engine::kind::cpu);
    stock.add_op(op_of(plain()));
    stock.finalize();
    EXPECT_EQ(status_of([&] { stock.finalize(); }), ours);
    set_plugin_enabled(true);
    EXPECT_EQ(g.get_partitions().size(), 1u);
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
