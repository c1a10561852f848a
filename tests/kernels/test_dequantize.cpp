// Every kernel of the family against the reference, over the cross product of
// types, granularities, layouts and sizes.

#include <gtest/gtest.h>

#include <tuple>

#include "kernels/every_kernel.hpp"
#include "kernels/on_machine.hpp"
#include "kernels/run_case.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using support::dequantize_case_t;
using support::types_t;

using param_t = std::tuple<data_type_t, data_type_t>;

bool is_jit(const kernel_row_t &row) {
    return row.name.find("jit_") == 0;
}

// True if JIT kernels must take the problem: its inner loop stores one element
// after the other.
bool stores_one_after_the_other(const problem_t &problem) {
    return !problem.loops.empty() && problem.dst().strides.back() == 1;
}

bool may_refuse(const kernel_row_t &row, const problem_t &problem) {
    return is_jit(row) && !stores_one_after_the_other(problem);
}

class dequantize_kernels : public ::testing::TestWithParam<param_t> {
protected:
    // `sample`: of so many cases, one.
    void run(const std::vector<types_t> &types,
            const std::vector<dequantize_case_t> &shapes, dim_t sample) {
        every_kernel_t kernels(dequantize_rows(), may_refuse);
        support::for_each_case(
                types, shapes, [&](const dequantize_case_t &given, dim_t n) {
            if (n % sample != 0) return true;
            const dequantize_case_t c = with_offsets(given);
            const case_buffers_t expected = expected_of(c);
            kernels.run(
                    {problem_of(c), n, to_string(c)}, [&](const kernel_t &k) {
                return check_kernel(k, c, expected);
            });
            return !kernels.has_failed_enough();
        });
        kernels.report(true);
    }
};

std::vector<types_t> types_of(const param_t &param) {
    return support::type_combinations(std::get<0>(param), std::get<1>(param));
}

std::vector<types_t> extended_types_of(const param_t &param) {
    return support::extended_combinations(
            std::get<0>(param), std::get<1>(param));
}

TEST_P(dequantize_kernels, equal_reference_on_small_odd_shapes) {
    run(types_of(GetParam()), support::small_shapes(), 1);
}

TEST_P(dequantize_kernels, equal_reference_about_multiples_of_vectors) {
    run(types_of(GetParam()), support::vector_shapes(), 1);
}

// Every unit does; otherwise only what is larger than tests have time for.
TEST_P(dequantize_kernels, equal_reference_where_dst_leaves_the_caches) {
    for (const auto &policy : machine_policies()) {
        const on_machine_t machine({policy, no_cache_bytes, no_cache_bytes});
        run(types_of(GetParam()), support::small_shapes(), 29);
        run(types_of(GetParam()), support::vector_shapes(), 11);
    }
}

// The last group of rows is short.
TEST_P(dequantize_kernels, equal_reference_where_groups_overlap_in_src) {
    dequantize_case_t c;
    c.src.dims = c.dst.dims = {7, 32, 64};
    c.qtype = support::qtype_t::per_group;
    c.group_shape = {4, 1, 1};
    c.scales.dims = c.zps.dims = support::scales_dims_of(c);
    c.scales.strides = c.zps.strides = support::dense_strides(c.scales.dims);
    c.src.strides = {8, 1, 100};
    c.dst.strides = support::dense_strides(c.dst.dims);
    run(types_of(GetParam()), {c}, 1);
}

// One CPU takes them by a vector of half the size each, eight in turns.
TEST_P(dequantize_kernels, equal_reference_in_groups_of_eight_columns) {
    const on_machine_t machine({policy_named("Zen 4"), 32 << 20, 1 << 20});
    std::vector<dequantize_case_t> shapes;
    for (const dim_t cols : {8, 24, 64, 88, 136, 1032}) {
        dequantize_case_t c;
        c.src.dims = c.dst.dims = {19, cols};
        c.qtype = support::qtype_t::per_group;
        c.group_shape = {1, 8};
        c.scales.dims = c.zps.dims = support::scales_dims_of(c);
        c.scales.strides = c.zps.strides
                = support::dense_strides(c.scales.dims);
        c.src.strides = c.dst.strides = support::dense_strides(c.dst.dims);
        shapes.push_back(c);
        c.dst.strides = {cols + 8, 1};
        c.src.strides = {cols + 16, 1};
        shapes.push_back(c);
        c.scales.strides = {c.scales.dims[1] + 1, 1};
        c.zps.strides = {1, c.zps.dims[0]};
        shapes.push_back(c);
    }
    run(types_of(GetParam()), shapes, 1);
}

class extended_kernels : public dequantize_kernels {};

// Primes: from one combination of types to the next other shapes are left out.
TEST_P(extended_kernels, equal_reference_on_small_odd_shapes) {
    run(extended_types_of(GetParam()), support::small_shapes(), 37);
}

TEST_P(extended_kernels, equal_reference_about_multiples_of_vectors) {
    run(extended_types_of(GetParam()), support::vector_shapes(), 23);
}

TEST_P(extended_kernels, equal_reference_where_dst_leaves_the_caches) {
    for (const auto &policy : machine_policies()) {
        const on_machine_t machine({policy, no_cache_bytes, no_cache_bytes});
        run(extended_types_of(GetParam()), support::small_shapes(), 97);
        run(extended_types_of(GetParam()), support::vector_shapes(), 41);
    }
}

std::string name_of(const ::testing::TestParamInfo<param_t> &info) {
    return std::string(to_string(std::get<0>(info.param))) + '_'
           + to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(every, dequantize_kernels,
        ::testing::Combine(::testing::Values(data_type_t::s8, data_type_t::u8,
                                   data_type_t::s4, data_type_t::u4),
                ::testing::Values(
                        data_type_t::f32, data_type_t::bf16, data_type_t::f16)),
        name_of);

INSTANTIATE_TEST_SUITE_P(every, extended_kernels,
        ::testing::Combine(
                ::testing::Values(data_type_t::u16, data_type_t::s16,
                        data_type_t::u32, data_type_t::s32, data_type_t::f16,
                        data_type_t::bf16, data_type_t::f32,
                        data_type_t::f8_e4m3, data_type_t::f8_e5m2,
                        data_type_t::f8_e4m3fnuz, data_type_t::f8_e5m2fnuz,
                        data_type_t::f4_e2m1, data_type_t::s2, data_type_t::u2,
                        data_type_t::u8, data_type_t::s8, data_type_t::u4,
                        data_type_t::s4),
                ::testing::Values(
                        data_type_t::f32, data_type_t::bf16, data_type_t::f16)),
        name_of);

} // namespace
} // namespace dnnl_dequant
