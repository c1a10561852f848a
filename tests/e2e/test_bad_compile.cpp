// Tensors that are refused at compile.

#include <gtest/gtest.h>

#include <cstdlib>

#include "e2e/bad_input.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

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

// The status is the one that oneDNN has for groups.
TEST(bad_input_compile, scales_of_the_wrong_size) {
    auto c = plain();
    set_dims(c.scales, {2});
    expect_compile_fails(c, dnnl_invalid_arguments,
            {"scales", "shape 2", "expected one element"});
    c = per_channel(plain(), 1);
    set_dims(c.scales, {5});
    expect_compile_fails(
            c, dnnl_invalid_arguments, {"scales", "shape 5", "expected", "6"});
    c = per_channel(plain(), 1);
    set_dims(c.scales, {1});
    expect_compile_fails(
            c, dnnl_invalid_arguments, {"scales", "shape 1", "expected", "6"});
    c = grouped();
    set_dims(c.scales, {4, 2});
    expect_compile_fails(
            c, dnnl_invalid_arguments, {"scales", "4x2", "expected 4x3"});
    c = grouped();
    set_dims(c.scales, {12});
    expect_compile_fails(
            c, dnnl_invalid_arguments, {"scales", "12", "expected 4x3"});
}

TEST(bad_input_compile, zps_of_the_wrong_size) {
    auto c = plain();
    set_dims(c.zps, {6});
    expect_compile_fails(c, dnnl_invalid_arguments,
            {"zps", "shape 6", "expected one element"});
    c = per_channel(plain(), 0);
    set_dims(c.zps, {6});
    expect_compile_fails(
            c, dnnl_invalid_arguments, {"zps", "shape 6", "expected", "4"});
    c = grouped();
    set_dims(c.zps, {1});
    expect_compile_fails(
            c, dnnl_invalid_arguments, {"zps", "shape 1", "expected 4x3"});
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

// oneDNN gives such a tensor no memory at all.
TEST(bad_input_compile, strides_that_are_all_zero) {
    auto c = grouped();
    c.scales.strides = {0, 0};
    expect_compile_fails(c, dnnl_invalid_shape, {"scales", "beyond the 0"});
}

// The stride of a dimension of 1 adds nothing to what oneDNN gives it.
TEST(bad_input_compile, strides_that_reach_beyond_a_batch_of_one) {
    auto c = plain();
    set_dims(c.src, {1, 8, 6});
    set_dims(c.dst, {1, 8, 6});
    c.src.strides = {2048, 3, 1};
    expect_compile_fails(c, dnnl_invalid_shape, {"src", "beyond the 24"});
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

// A window that is larger than its src is oneDNN's own refusal, which it throws
// out of its C function. oneDNN then crashes later, without the plugin too, so
// this runs in a process of its own.
TEST(bad_input_compile, what_only_onednn_refuses) {
    using dnnl::graph::op;
    const dims_t two {2, 2}, none {0, 0}, window {20, 20};
    const logical_tensor src(0, logical_tensor::data_type::f32, {1, 8, 8, 8},
            logical_tensor::layout_type::strided);
    const logical_tensor dst(1, logical_tensor::data_type::f32, {1, 8, 4, 4},
            logical_tensor::layout_type::strided);
    op pool(0, op::kind::MaxPool, {src}, {dst}, "pool");
    pool.set_attr(op::attr::strides, two);
    pool.set_attr(op::attr::kernel, window);
    pool.set_attr(op::attr::pads_begin, none);
    pool.set_attr(op::attr::pads_end, none);
    pool.set_attr(op::attr::data_format, std::string("NCX"));
    auto p = partition_of(pool);
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
            std::_Exit(status_of([&] { compile_or_throw(p, {src}, {dst}); })),
            ::testing::ExitedWithCode(dnnl_invalid_arguments), "");
}

TEST(bad_input_compile, missing_tensors) {
    const auto c = plain();
    expect_compile_fails(c, {strided(src_id, c.src)}, strided(dst_id, c.dst),
            dnnl_invalid_arguments, {"scales", "not among the inputs"});
    expect_compile_fails(c, inputs_of(c), strided(42, c.dst),
            dnnl_invalid_arguments, {"dst", "not among the outputs"});
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
