// Every combination of types, granularities and layouts of the specification,
// from the graph to dst.

#include <gtest/gtest.h>

#include "e2e/dequantize_graph.hpp"
#include "support/cross_product.hpp"
#include "support/linear_cases.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

constexpr int failures_to_show = 3;

using param_t = std::tuple<data_type_t, data_type_t>; // src, dst

// True for cases that oneDNN computes in its own way.
bool is_onednns(const dequantize_case_t &c) {
    if (c.op != support::dequantize_op_t::dynamic_quantize) return false;
    const bool of_8_bits
            = c.dst.type == data_type_t::u8 || c.dst.type == data_type_t::s8;
    return c.src.type == data_type_t::f32 && c.scales.type == data_type_t::f32
           && of_8_bits
           && (c.qtype == support::qtype_t::per_tensor
                   || (c.qtype == support::qtype_t::per_channel
                           && !c.zps.present()));
}

// One case in `every` of each combination of types with each shape.
void run_cases(const std::vector<support::types_t> &types,
        const std::vector<dequantize_case_t> &shapes, dim_t every) {
    const auto *const test
            = ::testing::UnitTest::GetInstance()->current_test_info();
    int failures = 0;
    support::for_each_case(
            types, shapes, [&](const dequantize_case_t &c, dim_t n) {
        if (n % every != 0 && support::only_case() < 0) return true;
        if (is_onednns(c)) return true;
        const std::string wrong = check_case(c);
        if (wrong.empty()) return true;
        ADD_FAILURE() << wrong << "\n  case: " << to_string(c)
                      << "\n  alone: DNNL_DEQUANT_TEST_SEED="
                      << support::first_seed()
                      << " DNNL_DEQUANT_TEST_CASE=" << n
                      << " test_e2e --gtest_filter=" << test->test_suite_name()
                      << '.' << test->name();
        return ++failures < failures_to_show;
    });
}

class cross_product : public ::testing::TestWithParam<param_t> {
protected:
    void run(const std::vector<dequantize_case_t> &shapes, dim_t every) {
        run_cases(support::type_combinations(
                          std::get<0>(GetParam()), std::get<1>(GetParam())),
                shapes, every);
    }
};

TEST_P(cross_product, is_right_on_small_odd_shapes) {
    run(support::small_shapes(), 1);
}

// The kernels' own tests run them all.
TEST_P(cross_product, is_right_about_multiples_of_vectors) {
    run(support::vector_shapes(), 5);
}

INSTANTIATE_TEST_SUITE_P(every, cross_product,
        ::testing::Combine(::testing::Values(data_type_t::s8, data_type_t::u8,
                                   data_type_t::s4, data_type_t::u4),
                ::testing::Values(
                        data_type_t::f32, data_type_t::bf16, data_type_t::f16)),
        [](const auto &param_info) {
            return std::string(to_string(std::get<0>(param_info.param))) + '_'
                   + to_string(std::get<1>(param_info.param));
        });

// The further types and ops; of them all a sample, whose primes leave other
// shapes out from one combination of types to the next.
class linear_cross_product
    : public ::testing::TestWithParam<support::dequantize_op_t> {
protected:
    void run(const std::vector<dequantize_case_t> &shapes, dim_t every) {
        const auto op = GetParam();
        for (const auto quantized : support::quantized_types(op))
            for (const auto plain : support::plain_types(op))
                run_cases(support::linear_combinations(op, quantized, plain),
                        support::shapes_of(op, shapes), every);
    }
};

TEST_P(linear_cross_product, is_right_on_small_odd_shapes) {
    run(support::small_shapes(), 19);
}

TEST_P(linear_cross_product, is_right_about_multiples_of_vectors) {
    run(support::vector_shapes(), 23);
}

INSTANTIATE_TEST_SUITE_P(every, linear_cross_product,
        ::testing::Values(support::dequantize_op_t::linear,
                support::dequantize_op_t::extended_linear,
                support::dequantize_op_t::quantize_linear,
                support::dequantize_op_t::extended_quantize_linear,
                support::dequantize_op_t::dynamic_quantize),
        [](const auto &param_info) { return to_string(param_info.param); });

// The schema has small floats only as floating zero points.
bool admits(const support::types_t &types) {
    return !is_floating(types.zps) || bits_of(types.zps) <= 8;
}

class extended_cross_product : public ::testing::TestWithParam<data_type_t> {
protected:
    static std::vector<support::types_t> admitted(data_type_t dst) {
        std::vector<support::types_t> result;
        for (const auto &types :
                support::extended_combinations(GetParam(), dst))
            if (admits(types)) result.push_back(types);
        return result;
    }

    void run(const std::vector<dequantize_case_t> &shapes, dim_t every) {
        for (const auto dst :
                {data_type_t::f32, data_type_t::bf16, data_type_t::f16})
            run_cases(admitted(dst), shapes, every);
    }
};

TEST_P(extended_cross_product, is_right_on_small_odd_shapes) {
    run(support::small_shapes(), 101);
}

TEST_P(extended_cross_product, is_right_about_multiples_of_vectors) {
    run(support::vector_shapes(), 41);
}

INSTANTIATE_TEST_SUITE_P(every, extended_cross_product,
        ::testing::ValuesIn(
                support::quantized_types(support::dequantize_op_t::dynamic)),
        [](const auto &param_info) { return to_string(param_info.param); });

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
