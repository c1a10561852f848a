// Every kernel of the family against the reference, over the cross product of
// types, granularities, layouts and sizes.

#include <gtest/gtest.h>

#include <iostream>
#include <tuple>

#include "kernels/kernel_rows.hpp"
#include "kernels/run_case.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using support::dequantize_case_t;

constexpr int failures_to_show = 3;

using param_t = std::tuple<size_t, data_type_t, data_type_t>;

bool is_jit(const kernel_row_t &row) {
    return row.name.find("jit_") == 0;
}

// What a JIT kernel may not refuse: its inner loop stores one after the other.
bool stores_one_after_the_other(const problem_t &problem) {
    return !problem.loops.empty() && problem.dst().strides.back() == 1;
}

class dequantize_kernel : public ::testing::TestWithParam<param_t> {
protected:
    const kernel_row_t &row() const {
        return dequantize_rows()[std::get<0>(GetParam())];
    }

    void SetUp() override {
        if (isas_for(row()).empty())
            GTEST_SKIP() << "this machine lacks the ISA of " << row().name;
    }

    void run(const std::vector<dequantize_case_t> &shapes) {
        const auto types = support::type_combinations(
                std::get<1>(GetParam()), std::get<2>(GetParam()));
        for (const isa_t isa : isas_for(row()))
            support::for_each_case(
                    types, shapes, [&](const dequantize_case_t &c, dim_t n) {
                run_case(with_offsets(c), n, isa);
                return failures_ < failures_to_show;
            });
        std::cout << row().name << ": took " << taken_ << ", refused "
                  << refused_ << '\n';
        EXPECT_GT(taken_, 0);
    }

private:
    void fail(const dequantize_case_t &c, dim_t n, isa_t isa,
            const std::string &what) {
        const auto *const test =
                ::testing::UnitTest::GetInstance()->current_test_info();
        ++failures_;
        ADD_FAILURE() << row().name << " on ISA set " << isa << ": " << what
                      << "\n  case: " << to_string(c)
                      << "\n  problem: " << to_string(problem_of(c))
                      << "\n  alone: DNNL_DEQUANT_TEST_SEED="
                      << support::first_seed()
                      << " DNNL_DEQUANT_TEST_CASE=" << n
                      << " test_kernels --gtest_filter="
                      << test->test_suite_name() << '.' << test->name();
    }

    void run_case(const dequantize_case_t &c, dim_t n, isa_t isa) {
        const problem_t problem = problem_of(c);
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = row().factory(problem, isa, kernel);
        if (!made.ok()) {
            ++refused_;
            if (made.status != status_t::unimplemented || made.reason.empty())
                fail(c, n, isa, "refused without a reason");
            if (!is_jit(row()) || stores_one_after_the_other(problem))
                fail(c, n, isa, "refused: " + made.reason);
            return;
        }
        ++taken_;
        if (kernel->name() != row().name)
            fail(c, n, isa, std::string("is named ") + kernel->name());
        const std::string wrong = check_kernel(*kernel, c);
        if (!wrong.empty()) fail(c, n, isa, wrong);
    }

    int failures_ = 0;
    dim_t taken_ = 0;
    dim_t refused_ = 0;
};

TEST_P(dequantize_kernel, equals_reference_on_small_odd_shapes) {
    run(support::small_shapes());
}

TEST_P(dequantize_kernel, equals_reference_about_multiples_of_vectors) {
    run(support::vector_shapes());
}

INSTANTIATE_TEST_SUITE_P(kernels, dequantize_kernel,
        ::testing::Combine(
                ::testing::Range(size_t {0}, dequantize_rows().size()),
                ::testing::Values(data_type_t::s8, data_type_t::u8,
                        data_type_t::s4, data_type_t::u4),
                ::testing::Values(
                        data_type_t::f32, data_type_t::bf16, data_type_t::f16)),
        [](const auto &param_info) {
            return dequantize_rows()[std::get<0>(param_info.param)].name + '_' +
                   to_string(std::get<1>(param_info.param)) + '_' +
                   to_string(std::get<2>(param_info.param));
        });

} // namespace
} // namespace dnnl_dequant
