// Problems that only the reference kernel has to take.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/dequantize/dequantize.hpp"
#include "kernels/kernel_rows.hpp"
#include "kernels/run_case.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using support::dequantize_case_t;

std::shared_ptr<const kernel_t> make_ref(const problem_t &problem) {
    std::shared_ptr<const kernel_t> kernel;
    const result_t made = make_ref_dequantize(problem, isa_none, kernel);
    EXPECT_TRUE(made.ok()) << made.reason;
    return kernel;
}

// Differences that leave 32 and 64 bits.
TEST(ref_dequantize, takes_wide_integers_exactly) {
    std::vector<support::types_t> types;
    for (const auto src : {data_type_t::s32, data_type_t::s64, data_type_t::u4})
        for (const auto zps :
                {data_type_t::undef, data_type_t::s32, data_type_t::s64})
            types.push_back({src, data_type_t::f32, zps, data_type_t::f32});
    support::for_each_case(types, support::small_shapes(),
            [](const dequantize_case_t &c, dim_t) {
        const auto kernel = make_ref(problem_of(c));
        EXPECT_EQ(check_kernel(*kernel, c, expected_of(c)), "") << to_string(c);
        return !::testing::Test::HasFailure();
    });
}

TEST(ref_dequantize, does_not_overflow_on_the_widest_difference) {
    const problem_t p {{},
            {{data_type_t::s64, 0, {}}, {data_type_t::s64, 0, {}},
                    {data_type_t::f32, 0, {}}, {data_type_t::f32, 0, {}}},
            {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}}};
    int64_t src = INT64_MAX, zps = INT64_MIN;
    float scale = 1, dst = 0;
    void *const buffers[] = {&src, &zps, &scale, &dst};
    make_ref(p)->run(buffers, 0, 1);
    EXPECT_EQ(dst, 0x1p64f);
}

TEST(ref_dequantize, keeps_the_sign_of_a_zero) {
    const problem_t p {{},
            {{data_type_t::u8, 0, {}}, {data_type_t::u8, 0, {}},
                    {data_type_t::f32, 0, {}}, {data_type_t::f32, 0, {}}},
            {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}}};
    uint8_t src = 7, zps = 7;
    float scale = -2, dst = 1;
    void *const buffers[] = {&src, &zps, &scale, &dst};
    make_ref(p)->run(buffers, 0, 1);
    EXPECT_EQ(dst, 0.f);
    EXPECT_TRUE(std::signbit(dst));
}

TEST(ref_dequantize, has_nothing_to_do_for_no_elements) {
    const problem_t p {{{0, -1, 0}},
            {{data_type_t::u8, 0, {0}}, {data_type_t::f32, 0, {0}},
                    {data_type_t::f32, 0, {0}}},
            {{step_kind_t::multiply, 1}}};
    EXPECT_EQ(make_ref(p)->work_amount(), 0);
}

TEST(ref_dequantize, takes_twelve_dimensions_of_short_groups) {
    dequantize_case_t c;
    c.src.dims = c.dst.dims = dims_t(12, 3);
    c.src.dims[0] = c.dst.dims[0] = 2;
    for (size_t d = 1; d < 5; ++d)
        c.src.dims[d] = c.dst.dims[d] = 1;
    c.qtype = support::qtype_t::per_group;
    c.group_shape = dims_t(12, 2);
    c.group_shape[1] = c.group_shape[2] = c.group_shape[3] = 1;
    c.group_shape[4] = 1;
    c.scales.dims = c.zps.dims = scales_dims_of(c);
    c.scales.strides = c.zps.strides = support::dense_strides(c.scales.dims);
    c.src.strides = c.dst.strides = support::dense_strides(c.src.dims);
    c = support::with_types(c,
            {data_type_t::u4, data_type_t::f16, data_type_t::s4,
                    data_type_t::bf16},
            support::first_seed());
    EXPECT_EQ(check_kernel(*make_ref(problem_of(c)), c, expected_of(c)), "");
}

TEST(ref_dequantize, refuses_more_loops_than_twelve_dimensions_make) {
    problem_t p;
    p.loops.assign(25, loop_t {2, -1, 0});
    p.operands = {{data_type_t::u8, 0, dims_t(25, 0)},
            {data_type_t::f32, 0, dims_t(25, 0)},
            {data_type_t::f32, 0, dims_t(25, 1)}};
    p.steps = {{step_kind_t::multiply, 1}};
    std::shared_ptr<const kernel_t> kernel;
    const result_t made = make_ref_dequantize(p, isa_none, kernel);
    EXPECT_EQ(made.status, status_t::unimplemented);
    EXPECT_NE(made.reason.find("25 loops"), std::string::npos);
}

} // namespace
} // namespace dnnl_dequant
