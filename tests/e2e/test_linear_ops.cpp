// DequantizeLinear and ExtendedDequantizeLinear through the graph API: what
// they compute is compared with the formula.

#include <gtest/gtest.h>

#include "e2e/linear_case.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

using dims = logical_tensor::dims;
using type = logical_tensor::data_type;

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
    c.run(x.data(), scale.data(), zero.data(), y.data());
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

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
