// QuantizeLinear, ExtendedQuantizeLinear and DynamicQuantize: what they refuse,
// and what scales give that no tensor should have.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/bad_input.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using quantize_t = support::dequantize_op_t;

// f32 to u8, one scale for all.
dequantize_case_t plain_quantize(quantize_t op = quantize_t::quantize_linear) {
    auto c = dense_case(
            {4, 6}, data_type_t::f32, data_type_t::u8, data_type_t::u8);
    c.op = op;
    c.scales.type = data_type_t::f32;
    return c;
}

void expect_refused(const dequantize_case_t &c, dnnl_status_t status,
        const words_t &words) {
    expect_failure([&] {
        compile_or_throw(
                partition_of(op_of(c)), inputs_of(c), {strided(dst_id, c.dst)});
    }, status, words);
}

TEST(bad_quantize, types_that_are_not_the_ops) {
    for (const auto op : {quantize_t::quantize_linear,
                 quantize_t::extended_quantize_linear}) {
        auto c = plain_quantize(op);
        c.src.type = data_type_t::s8;
        expect_refused(c, dnnl_invalid_graph_op,
                {"x is of type s8", "expected one of f32"});
        c = plain_quantize(op);
        c.scales.type = data_type_t::u8;
        expect_refused(c, dnnl_invalid_graph_op,
                {"y_scale is of type u8", "expected one of f32"});
        c = plain_quantize(op);
        c.zps.type = data_type_t::s8;
        expect_refused(c, dnnl_invalid_graph_op,
                {"y_zero_point is of type s8", "expected y's type, u8"});
    }
    auto c = plain_quantize();
    c.dst.type = c.zps.type = data_type_t::f32;
    expect_refused(c, dnnl_invalid_graph_op, {"is of type f32", "expected"});
    c = plain_quantize(quantize_t::extended_quantize_linear);
    c.dst.type = c.zps.type = data_type_t::u4;
    expect_refused(c, dnnl_invalid_graph_op, {"is of type u4", "expected"});
}

TEST(bad_quantize, shapes_that_do_not_fit) {
    for (const auto op : {quantize_t::quantize_linear,
                 quantize_t::extended_quantize_linear}) {
        auto c = plain_quantize(op);
        c.dst.dims = {4, 7};
        c.dst.strides = {7, 1};
        expect_refused(c, dnnl_invalid_shape, {"4x7", "expected 4x6"});
        c = per_channel(plain_quantize(op), 1);
        c.scales.dims = c.zps.dims = {5};
        expect_refused(
                c, dnnl_invalid_shape, {"y_scale", "shape 5", "6 elements"});
        c = per_channel(plain_quantize(op), 1);
        c.zps.dims = {4};
        expect_refused(c, dnnl_invalid_shape,
                {"y_zero_point", "shape 4", "expected y_scale's, 6"});
    }
    auto c = per_group(plain_quantize(), {1, 4});
    c.scales.dims = c.zps.dims = {4, 3};
    c.scales.strides = c.zps.strides = {3, 1};
    expect_refused(c, dnnl_invalid_graph_op, {"block_size is 4", "2 blocks"});
}

// --- scales that are no step

constexpr float infinity = std::numeric_limits<float>::infinity();
const float nan_of_f32 = std::nanf("");

// Quantizes some x by one scale, and zero point 100.
std::vector<int> quantized(quantize_t op, float scale) {
    std::vector<float> x {
            -1.f, -0.f, 0.f, 1.f, -infinity, infinity, nan_of_f32, 1e-45f};
    const auto count = static_cast<dim_t>(x.size());
    auto c = dense_case(
            {1, count}, data_type_t::f32, data_type_t::u8, data_type_t::u8);
    c.op = op;
    c.scales.type = data_type_t::f32;
    // Groups, which oneDNN leaves to us.
    if (op == quantize_t::dynamic_quantize) c = per_group(c, {1, count});
    uint8_t zero = 100;
    std::vector<uint8_t> y(x.size(), 77);
    const auto inputs = inputs_of(c);
    const auto dst = strided(dst_id, c.dst);
    const auto &cpu = cpu_engine();
    const auto compiled = partition_of(op_of(c)).compile(inputs, {dst}, cpu);
    EXPECT_NE(kernel_of(compiled), "");
    compiled.execute(cpu_stream(),
            {{inputs[0], cpu, x.data()}, {inputs[1], cpu, &scale},
                    {inputs[2], cpu, &zero}},
            {{dst, cpu, y.data()}});
    return {y.begin(), y.end()};
}

TEST(quantize_scales, that_are_no_step_give_what_is_documented) {
    using list_t = std::vector<int>;
    const list_t ends {0, 100, 100, 255, 0, 255, 100, 255};
    const list_t zero_points(8, 100);
    for (const auto op :
            {quantize_t::quantize_linear, quantize_t::extended_quantize_linear,
                    quantize_t::dynamic_quantize}) {
        EXPECT_EQ(quantized(op, 0.f), ends);
        EXPECT_EQ(quantized(op, -0.f),
                (list_t {255, 100, 100, 0, 255, 0, 100, 0}));
        EXPECT_EQ(quantized(op, 1e-45f),
                (list_t {0, 100, 100, 255, 0, 255, 100, 101}));
        EXPECT_EQ(quantized(op, -0.5f),
                (list_t {102, 100, 100, 98, 255, 0, 100, 100}));
        EXPECT_EQ(quantized(op, infinity), zero_points);
        EXPECT_EQ(quantized(op, -infinity), zero_points);
        EXPECT_EQ(quantized(op, nan_of_f32), zero_points);
    }
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
