// The ONNX-shaped dequantize ops: what they refuse, and how.

#include <gtest/gtest.h>

#include "e2e/linear_case.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using dims = logical_tensor::dims;
using type = logical_tensor::data_type;

// Refused by both ops, at add_op where the shapes are known there, at compile
// where they are known only then.
void expect_refused(linear_case_t c, dnnl_status_t status, const words_t &words,
        bool only_dequantize = false) {
    for (const auto kind :
            {op_kind::DequantizeLinear, op_kind::ExtendedDequantizeLinear})
        for (const bool shaped : {true, false}) {
            if (only_dequantize && kind == op_kind::ExtendedDequantizeLinear)
                continue;
            c.kind = kind;
            expect_failure([&] {
                for (const auto &p : c.partitions(shaped))
                    compile_or_throw(p, {c.x, c.scale, c.zero}, {c.y});
            }, status, words);
        }
}

TEST(bad_input_linear, axis_out_of_range) {
    linear_case_t c;
    c.scale = dense(1, type::f32, dims {5});
    c.zero = dense(2, data_type::u16, dims {5});
    for (const int64_t axis : {2, -3}) {
        c.axis = axis;
        expect_refused(c, dnnl_invalid_graph_op,
                {"axis is " + std::to_string(axis), "expected", "-2 .. 1"});
    }
    c.scale = dense(1, type::f32, {3, 3});
    c.zero = dense(2, data_type::u16, {3, 3});
    c.block_size = 2;
    expect_refused(c, dnnl_invalid_graph_op,
            {"axis is -3", "expected", "-2 .. 1"}, true);
}

TEST(bad_input_linear, zero_point_of_another_type) {
    linear_case_t c;
    for (const auto other : {type::u8, data_type::s16, type::s32}) {
        c.zero = dense(2, other, dims {1});
        expect_refused(c, dnnl_invalid_graph_op,
                {"x_zero_point is of type", "expected x's type", "u16"});
    }
}

TEST(bad_input_linear, zero_point_of_another_shape) {
    linear_case_t c;
    c.scale = dense(1, type::f32, dims {5});
    expect_refused(c, dnnl_invalid_shape, {"x_zero_point has shape 1", "5"});
    c.zero = dense(2, data_type::u16, {1, 5});
    expect_refused(c, dnnl_invalid_shape, {"x_zero_point has shape 1x5", "5"});
    c.scale = dense(1, type::f32, {3, 3});
    c.zero = dense(2, data_type::u16, dims {3});
    c.block_size = 2;
    expect_refused(c, dnnl_invalid_shape,
            {"x_zero_point has shape 3", "expected x_scale's, 3x3"}, true);
}

TEST(bad_input_linear, scale_of_the_wrong_size) {
    linear_case_t c;
    for (const int64_t size : {3, 4, 6, 15}) {
        c.scale = dense(1, type::f32, dims {size});
        c.zero = dense(2, data_type::u16, dims {size});
        expect_refused(c, dnnl_invalid_shape,
                {"has shape " + std::to_string(size), "5 elements"});
    }
    c.block_size = 2;
    c.scale = dense(1, type::f32, {2, 3});
    c.zero = dense(2, data_type::u16, {2, 3});
    expect_refused(
            c, dnnl_invalid_shape, {"has shape 2x3", "expected 3x3"}, true);
    c.scale = dense(1, type::f32, dims {3});
    c.zero = dense(2, data_type::u16, dims {3});
    expect_refused(
            c, dnnl_invalid_shape, {"has shape 3", "expected rank 2"}, true);
    c.scale = dense(1, type::f32, {3, 3, 1});
    c.zero = dense(2, data_type::u16, {3, 3, 1});
    expect_refused(c, dnnl_invalid_shape,
            {"has shape 3x3x1", "expected rank 2"}, true);
}

TEST(bad_input_linear, block_size_out_of_range) {
    linear_case_t c;
    c.scale = dense(1, type::f32, {3, 3});
    c.zero = dense(2, data_type::u16, {3, 3});
    for (const int64_t block : {1, 3, -2}) {
        c.block_size = block;
        expect_refused(c, dnnl_invalid_graph_op,
                {"block_size is " + std::to_string(block),
                        block < 0 ? "expected 0 or more"
                                  : "expected x_scale's 3"},
                true);
    }
}

TEST(bad_input_linear, block_size_where_there_is_no_such_attribute) {
    linear_case_t c;
    c.kind = op_kind::ExtendedDequantizeLinear;
    c.block_size = 5;
    expect_failure([&] { c.partitions(); }, dnnl_invalid_graph_op,
            {"attribute", "is not one of this op's: axis"});
}

TEST(bad_input_linear, types_that_are_not_the_ops) {
    const auto expect = [](op::kind kind, const linear_case_t &shown,
                                const words_t &words) {
        auto c = shown;
        c.kind = kind;
        expect_failure([&] { c.partitions(); }, dnnl_invalid_graph_op, words);
    };
    linear_case_t c;
    for (const auto t : {type::bf16, type::f32, data_type::u32}) {
        c.x = dense(0, t, {3, 5});
        c.zero = dense(2, t, dims {1});
        expect(op_kind::DequantizeLinear, c, {"x is of type", "expected one"});
    }
    for (const auto t : {type::u4, type::f8_e4m3, data_type::u2}) {
        c.x = dense(0, t, {3, 5});
        c.zero = dense(2, t, dims {1});
        expect(op_kind::ExtendedDequantizeLinear, c,
                {"x is of type", "expected one"});
    }
    c = linear_case_t();
    c.scale = dense(1, type::bf16, dims {1});
    expect(op_kind::ExtendedDequantizeLinear, c,
            {"x_scale is of type bf16", "expected one of f32"});
    c.scale = dense(1, type::u8, dims {1});
    expect(op_kind::DequantizeLinear, c,
            {"x_scale is of type u8", "expected one of f32"});
    c = linear_case_t();
    c.y = dense(3, type::s8, {3, 5});
    for (const auto kind :
            {op_kind::DequantizeLinear, op_kind::ExtendedDequantizeLinear})
        expect(kind, c, {"y is of type s8", "expected one of f32"});
}

TEST(bad_input_linear, small_float_with_a_zero_point) {
    linear_case_t c;
    c.x = dense(0, type::f8_e4m3, {3, 5});
    c.scale = dense(1, type::f32, dims {5});
    c.zero = dense(2, type::f8_e4m3, dims {5});
    std::vector<uint8_t> x(15, 0x38), zero(5, 0x80); // 1, -0
    std::vector<float> scale(5, 2.f), y(15, -7.f);
    c.run(x.data(), scale.data(), zero.data(), y.data());
    EXPECT_EQ(y, std::vector<float>(15, 2.f));
    y.assign(15, -7.f);
    zero[4] = 1;
    expect_failure([&] {
        c.run(x.data(), scale.data(), zero.data(), y.data());
    }, dnnl_invalid_arguments, {"zero point", "f8_e4m3", "expected 0"});
    EXPECT_EQ(y, std::vector<float>(15, -7.f)) << "written to";
}

// The op looks at the zero points alone, not at the bytes between them.
TEST(bad_input_linear, small_float_with_a_zero_point_among_gaps) {
    linear_case_t c;
    c.x = dense(0, type::f8_e4m3, {3, 5});
    c.scale = dense(1, type::f32, {3, 3});
    c.zero = logical_tensor(2, type::f8_e4m3, dims {3, 3}, dims {8, 2});
    c.block_size = 2;
    std::vector<uint8_t> x(15, 0x38), gaps(21, 0x38);
    std::vector<float> scale(9, 2.f), y(15, -7.f);
    for (const size_t at : {0u, 2u, 4u, 8u, 10u, 12u, 16u, 18u, 20u})
        gaps[at] = 0;
    c.run(x.data(), scale.data(), gaps.data(), y.data());
    EXPECT_EQ(y, std::vector<float>(15, 2.f));
    for (const size_t at : {0u, 4u, 10u, 16u, 20u}) {
        auto zero = gaps;
        zero[at] = 1;
        expect_failure([&] {
            c.run(x.data(), scale.data(), zero.data(), y.data());
        }, dnnl_invalid_arguments, {"zero point", "f8_e4m3", "expected 0"});
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
