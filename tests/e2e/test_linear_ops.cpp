// DequantizeLinear and ExtendedDequantizeLinear through the graph API: what
// they compute is compared with the formula, what they refuse with a status.

#include <gtest/gtest.h>

#include <cmath>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/bad_input.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using namespace dnnl::graph;
using lt = logical_tensor;
using dims = lt::dims;
using type = lt::data_type;

// The refusals' lines are looked for by this name.
constexpr const char *name = "dequantize_under_test";

lt dense(size_t id, type t, const dims &shape) {
    return lt(id, t, shape, lt::layout_type::strided);
}

struct linear_case_t {
    op::kind kind = op_kind::DequantizeLinear;
    lt x = dense(0, data_type::u16, {3, 5});
    lt scale = dense(1, type::f32, dims {1});
    lt zero = dense(2, data_type::u16, dims {1});
    lt y = dense(3, type::f32, {3, 5});
    int64_t axis = 1, block_size = 0;

    op make() const {
        op result(7, kind, {x, scale, zero}, {y}, name);
        result.set_attr<int64_t>(op::attr::axis, axis);
        if (block_size != 0)
            result.set_attr<int64_t>(attr::block_size, block_size);
        return result;
    }
};

std::vector<partition> partitions_of(const linear_case_t &c) {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(c.make());
    g.finalize();
    return g.get_partitions();
}

void run(const linear_case_t &c, void *x, void *scale, void *zero, float *y) {
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);
    const auto compiled
            = partitions_of(c)[0].compile({c.x, c.scale, c.zero}, {c.y}, cpu);
    EXPECT_NE(kernel_of(compiled), "");
    compiled.execute(stream,
            {{c.x, cpu, x}, {c.scale, cpu, scale}, {c.zero, cpu, zero}},
            {{c.y, cpu, y}});
}

// Element (r, c) of 3x5 takes parameter `of(r, c)`.
template <typename T, typename Of>
void expect_formula(const linear_case_t &c, size_t parameters, Of of) {
    std::vector<T> x(15), zero(parameters);
    std::vector<float> scale(parameters), y(15);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<T>(i * 4999 + 65521u * (i % 2));
    for (size_t i = 0; i < parameters; ++i) {
        zero[i] = static_cast<T>(30011 * i + 7);
        scale[i] = 0.37f * static_cast<float>(i) - 0.9f;
    }
    run(c, x.data(), scale.data(), zero.data(), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
        const size_t p = of(i / 5, i % 5);
        const int64_t difference
                = static_cast<int64_t>(x[i]) - static_cast<int64_t>(zero[p]);
        EXPECT_EQ(y[i], static_cast<float>(difference) * scale[p]) << i;
    }
}

TEST(linear_ops, per_tensor_whatever_the_axis) {
    linear_case_t c;
    c.axis = 9;
    expect_formula<uint16_t>(c, 1, [](size_t, size_t) { return size_t(0); });
}

TEST(linear_ops, per_axis) {
    linear_case_t c;
    for (const auto kind :
            {op_kind::DequantizeLinear, op_kind::ExtendedDequantizeLinear})
        for (const int64_t axis : {0, 1, -1, -2}) {
            const bool rows = axis == 0 || axis == -2;
            c.kind = kind;
            c.axis = axis;
            c.scale = dense(1, type::f32, dims {rows ? 3 : 5});
            c.zero = dense(2, data_type::u16, dims {rows ? 3 : 5});
            expect_formula<uint16_t>(c, rows ? 3 : 5,
                    [rows](size_t r, size_t col) { return rows ? r : col; });
        }
}

TEST(linear_ops, blocked_with_a_short_last_block) {
    linear_case_t c;
    c.block_size = 2;
    c.scale = dense(1, type::f32, {3, 3});
    c.zero = dense(2, data_type::u16, {3, 3});
    expect_formula<uint16_t>(
            c, 9, [](size_t r, size_t col) { return r * 3 + col / 2; });
}

TEST(linear_ops, u32_is_exact_beyond_24_bits) {
    linear_case_t c;
    c.kind = op_kind::ExtendedDequantizeLinear;
    c.x = dense(0, data_type::u32, {3, 5});
    c.zero = dense(2, data_type::u32, dims {1});
    expect_formula<uint32_t>(c, 1, [](size_t, size_t) { return size_t(0); });
}

void expect_refused(
        const linear_case_t &c, dnnl_status_t status, const words_t &words) {
    expect_failure([&] {
        const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
        for (const auto &p : partitions_of(c))
            p.compile({c.x, c.scale, c.zero}, {c.y}, cpu);
    }, status, words);
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
}

TEST(bad_input_linear, zero_point_of_another_type) {
    linear_case_t c;
    c.zero = dense(2, type::u8, dims {1});
    expect_refused(c, dnnl_invalid_graph_op,
            {"x_zero_point is of type u8", "expected x's type", "u16"});
}

TEST(bad_input_linear, zero_point_of_another_shape) {
    linear_case_t c;
    c.scale = dense(1, type::f32, dims {5});
    expect_refused(c, dnnl_invalid_shape, {"x_zero_point has shape 1", "5"});
}

TEST(bad_input_linear, scale_of_the_wrong_size) {
    linear_case_t c;
    c.scale = dense(1, type::f32, dims {4});
    c.zero = dense(2, data_type::u16, dims {4});
    expect_refused(c, dnnl_invalid_shape, {"has shape 4", "5 elements"});
}

TEST(bad_input_linear, block_size_out_of_range) {
    linear_case_t c;
    c.scale = dense(1, type::f32, {3, 3});
    c.zero = dense(2, data_type::u16, {3, 3});
    for (const int64_t block : {1, 3, -2}) {
        c.block_size = block;
        expect_refused(c, dnnl_invalid_graph_op,
                {"block_size is " + std::to_string(block), "expected"});
    }
}

TEST(bad_input_linear, x_of_a_type_that_is_not_the_ops) {
    linear_case_t c;
    c.x = dense(0, type::bf16, {3, 5});
    c.zero = dense(2, type::bf16, dims {1});
    expect_refused(c, dnnl_invalid_graph_op, {"x is of type bf16", "expected"});
}

TEST(bad_input_linear, small_float_with_a_zero_point) {
    linear_case_t c;
    c.x = dense(0, type::f8_e4m3, {3, 5});
    c.scale = dense(1, type::f32, dims {5});
    c.zero = dense(2, type::f8_e4m3, dims {5});
    std::vector<uint8_t> x(15, 0x38), zero(5, 0x80); // 1, -0
    std::vector<float> scale(5, 2.f), y(15, -7.f);
    run(c, x.data(), scale.data(), zero.data(), y.data());
    EXPECT_EQ(y, std::vector<float>(15, 2.f));
    y.assign(15, -7.f);
    zero[4] = 1;
    expect_failure([&] {
        run(c, x.data(), scale.data(), zero.data(), y.data());
    }, dnnl_invalid_arguments, {"zero point", "f8_e4m3", "expected 0"});
    EXPECT_EQ(y, std::vector<float>(15, -7.f)) << "written to";
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
