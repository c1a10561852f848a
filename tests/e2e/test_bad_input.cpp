// What is wrong fails with the right status at the right call, and says at
// ONEDNN_VERBOSE=check which op and tensor, what was found, what is expected.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "e2e/dequantize_graph.hpp"
#include "e2e/plugin.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using words_t = std::vector<std::string>;
using layout_type = logical_tensor::layout_type;

bool verbose_check() {
    const char *const verbose = std::getenv("ONEDNN_VERBOSE");
    return verbose && std::strstr(verbose, "check");
}

// The call fails with `expected` and, if the process was started to say so,
// one printed line has all the words; nothing is printed otherwise.
void expect_failure(const std::function<void()> &call, dnnl_status_t expected,
        const words_t &words) {
    ::testing::internal::CaptureStdout();
    const dnnl_status_t status = status_of(call);
    const std::string printed = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, expected);
    if (!verbose_check()) {
        if (!std::getenv("ONEDNN_VERBOSE")) {
            EXPECT_EQ(printed, "");
        }
        return;
    }
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
        bool all = line.find("dequantize_under_test") != std::string::npos;
        for (const auto &word : words)
            if (line.find(word) == std::string::npos) all = false;
        if (all) return;
    }
    ADD_FAILURE() << "no line has the op's name and "
                  << ::testing::PrintToString(words) << " in:\n"
                  << printed;
}

dequantize_case_t plain() {
    return dense_case(
            {4, 6}, data_type_t::s8, data_type_t::f32, data_type_t::s8);
}

dequantize_case_t grouped() {
    return per_group(dense_case({4, 20}, data_type_t::u4, data_type_t::f32,
                             data_type_t::u4),
            {1, 8});
}

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

// Given at compile of `declared`'s partition: the tensors of `given`.
void expect_compile_fails(const dequantize_case_t &declared,
        const std::vector<logical_tensor> &inputs, const logical_tensor &dst,
        dnnl_status_t expected, const words_t &words) {
    op dequantize = bare_op(declared);
    dequantize.add_inputs({of_type_only(src_id, declared.src),
            of_type_only(scales_id, declared.scales)});
    if (declared.zps.present())
        dequantize.add_input(of_type_only(zps_id, declared.zps));
    dequantize.add_output(of_type_only(dst_id, declared.dst));
    auto p = partition_of(dequantize);
    expect_failure(
            [&] { compile_or_throw(p, inputs, {dst}); }, expected, words);
}

void expect_compile_fails(const dequantize_case_t &given,
        dnnl_status_t expected, const words_t &words) {
    expect_compile_fails(given, inputs_of(given), strided(dst_id, given.dst),
            expected, words);
}

void set_dims(support::tensor_t &t, const dims_t &dims) {
    t.dims = dims;
    t.strides = support::dense_strides(dims);
}

TEST(bad_input_compile, scales_of_the_wrong_size) {
    auto c = plain();
    set_dims(c.scales, {2});
    expect_compile_fails(c, dnnl_invalid_shape,
            {"scales", "shape 2", "expected one element"});
    c = per_channel(plain(), 1);
    set_dims(c.scales, {5});
    expect_compile_fails(
            c, dnnl_invalid_shape, {"scales", "shape 5", "expected", "6"});
    c = per_channel(plain(), 1);
    set_dims(c.scales, {1});
    expect_compile_fails(
            c, dnnl_invalid_shape, {"scales", "shape 1", "expected", "6"});
    c = grouped();
    set_dims(c.scales, {4, 2});
    expect_compile_fails(
            c, dnnl_invalid_shape, {"scales", "4x2", "expected 4x3"});
    c = grouped();
    set_dims(c.scales, {12});
    expect_compile_fails(
            c, dnnl_invalid_shape, {"scales", "12", "expected 4x3"});
}

TEST(bad_input_compile, zps_of_the_wrong_size) {
    auto c = plain();
    set_dims(c.zps, {6});
    expect_compile_fails(
            c, dnnl_invalid_shape, {"zps", "shape 6", "expected one element"});
    c = per_channel(plain(), 0);
    set_dims(c.zps, {6});
    expect_compile_fails(
            c, dnnl_invalid_shape, {"zps", "shape 6", "expected", "4"});
    c = grouped();
    set_dims(c.zps, {1});
    expect_compile_fails(
            c, dnnl_invalid_shape, {"zps", "shape 1", "expected 4x3"});
}

TEST(bad_input_compile, dst_of_another_shape) {
    auto c = plain();
    set_dims(c.dst, {4, 7});
    expect_compile_fails(c, dnnl_invalid_shape, {"dst", "4x7", "expected 4x6"});
    c = plain();
    set_dims(c.dst, {24});
    expect_compile_fails(c, dnnl_invalid_shape, {"dst", "24", "expected 4x6"});
}

TEST(bad_input_compile, dst_that_overlaps_itself) {
    auto c = plain();
    c.dst.strides = {5, 1};
    expect_compile_fails(c, dnnl_invalid_shape,
            {"dst", "strides 5x1", "expected elements that do not overlap"});
    c.dst.strides = {0, 1};
    expect_compile_fails(c, dnnl_invalid_shape, {"dst", "overlap"});
}

TEST(bad_input_compile, negative_strides_and_dims) {
    auto c = plain();
    c.src.strides = {-6, 1};
    expect_compile_fails(c, dnnl_invalid_shape, {"src", "-6", "expected"});
    c = plain();
    c.src.dims = c.dst.dims = {4, -7};
    expect_compile_fails(c, dnnl_invalid_shape, {"src", "-7", "expected"});
}

TEST(bad_input_compile, sizes_that_no_memory_has) {
    const dim_t huge = dim_t {1} << 40;
    auto c = plain();
    c.src.dims = c.dst.dims = {huge, huge};
    c.src.strides = c.dst.strides = {huge, 1};
    expect_compile_fails(c, dnnl_invalid_shape, {"src", "too large"});
    c = plain();
    c.dst.strides = {INT64_MAX / 2, 1};
    expect_compile_fails(c, dnnl_invalid_shape, {"dst", "too large"});
}

TEST(bad_input_compile, group_shape_of_another_rank_than_the_shape_given) {
    auto c = grouped();
    set_dims(c.src, {2, 2, 20});
    set_dims(c.dst, {2, 2, 20});
    expect_compile_fails(
            c, dnnl_invalid_graph_op, {"group_shape", "2", "expected 3"});
}

TEST(bad_input_compile, axis_out_of_the_range_of_the_shape_given) {
    auto c = per_channel(plain(), 1);
    set_dims(c.src, {6});
    set_dims(c.dst, {6});
    expect_compile_fails(c, dnnl_invalid_graph_op, {"axis is 1", "expected"});
}

TEST(bad_input_compile, unknown_shapes) {
    const auto c = plain();
    expect_compile_fails(c,
            {of_rank_only(src_id, c.src), strided(scales_id, c.scales),
                    strided(zps_id, c.zps)},
            strided(dst_id, c.dst), dnnl_invalid_shape,
            {"src", "?x?", "expected a known"});
}

TEST(bad_input_compile, other_types_than_declared) {
    auto c = plain();
    c.src.type = data_type_t::u8;
    expect_compile_fails(plain(), inputs_of(c), strided(dst_id, c.dst),
            dnnl_invalid_data_type, {"src", "u8", "s8"});
    c = plain();
    c.dst.type = data_type_t::bf16;
    expect_compile_fails(plain(), inputs_of(plain()), strided(dst_id, c.dst),
            dnnl_invalid_data_type, {"dst", "bf16", "f32"});
}

TEST(bad_input_compile, missing_tensors) {
    const auto c = plain();
    expect_compile_fails(c, {strided(src_id, c.src)}, strided(dst_id, c.dst),
            dnnl_invalid_arguments, {"scales", "not among the inputs"});
    expect_compile_fails(c, inputs_of(c), strided(42, c.dst),
            dnnl_invalid_arguments, {"dst", "not among the outputs"});
}

// One execution of plain() into a dst that has to stay as it is.
class bad_input_execute : public ::testing::Test {
protected:
    void expect_fails(const std::vector<tensor> &inputs,
            const std::vector<tensor> &outputs, const words_t &words) {
        const support::guarded_buffer_t untouched(dst_.size());
        expect_failure([&] {
            compiled_.execute(cpu_stream(), inputs, outputs);
        }, dnnl_invalid_arguments, words);
        EXPECT_EQ(std::memcmp(dst_.data(), untouched.data(), dst_.size()), 0);
    }

    tensor in(size_t id) {
        switch (id) {
        case src_id:
            return tensor(strided(id, c_.src), cpu_engine(), src_.data());
        case scales_id:
            return tensor(strided(id, c_.scales), cpu_engine(), &scale_);
        default: return tensor(strided(id, c_.zps), cpu_engine(), &zp_);
        }
    }
    tensor out() {
        return tensor(strided(dst_id, c_.dst), cpu_engine(), dst_.data());
    }

    const dequantize_case_t c_ = plain();
    const compiled_partition compiled_ = partition_of(op_of(c_)).compile(
            inputs_of(c_), {strided(dst_id, c_.dst)}, cpu_engine());
    const support::guarded_buffer_t src_ {c_.src.bytes()};
    const support::guarded_buffer_t dst_ {c_.dst.bytes()};
    float scale_ = 1;
    signed char zp_ = 0;
};

TEST_F(bad_input_execute, too_few_tensors) {
    expect_fails({in(src_id), in(scales_id)}, {out()}, {"2", "not among"});
    expect_fails({in(scales_id), in(zps_id)}, {out()}, {"0", "not among"});
    expect_fails({}, {out()}, {"not among"});
    expect_fails({in(src_id), in(scales_id), in(zps_id)}, {}, {"not among"});
}

TEST_F(bad_input_execute, null_buffers) {
    const auto null = [](size_t id, const support::tensor_t &t) {
        return tensor(strided(id, t), cpu_engine(), nullptr);
    };
    expect_fails({null(src_id, c_.src), in(scales_id), in(zps_id)}, {out()},
            {"tensor 0", "null"});
    expect_fails({in(src_id), null(scales_id, c_.scales), in(zps_id)}, {out()},
            {"tensor 1", "null"});
    expect_fails({in(src_id), in(scales_id), null(zps_id, c_.zps)}, {out()},
            {"tensor 2", "null"});
    expect_fails({in(src_id), in(scales_id), in(zps_id)},
            {null(dst_id, c_.dst)}, {"tensor 3", "null"});
}

TEST_F(bad_input_execute, tensors_of_another_size) {
    auto larger = c_.src;
    larger.dims = {40, 60};
    larger.strides = {60, 1};
    std::vector<char> memory(larger.bytes());
    expect_fails({tensor(strided(src_id, larger), cpu_engine(), memory.data()),
                         in(scales_id), in(zps_id)},
            {out()}, {"tensor 0", "2400", "24"});
}

TEST_F(bad_input_execute, works_after_failures) {
    EXPECT_EQ(check_execution(c_, compiled_), "");
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
