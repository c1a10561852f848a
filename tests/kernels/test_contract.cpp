// Promises of kernel.hpp other than right values, for every kernel.

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/kernel_rows.hpp"
#include "kernels/run_case.hpp"
#include "support/cross_product.hpp"

namespace dnnl_dequant {
namespace {

using edge_t = support::guarded_buffer_t::edge_t;
using support::dequantize_case_t;
using support::types_t;

class kernel_contract : public ::testing::TestWithParam<size_t> {
protected:
    const kernel_row_t &row() const { return dequantize_rows()[GetParam()]; }

    void SetUp() override {
        if (!runs_here(row()))
            GTEST_SKIP() << "this machine lacks the ISA of " << row().name;
    }

    std::shared_ptr<const kernel_t> make(const problem_t &problem) const {
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = row().factory(problem, isa_of_machine(), kernel);
        EXPECT_EQ(made.ok(), kernel != nullptr) << made.reason;
        return kernel;
    }

    void expect_refused(const problem_t &problem) const {
        std::shared_ptr<const kernel_t> kernel;
        const result_t made = row().factory(problem, isa_of_machine(), kernel);
        EXPECT_EQ(made.status, status_t::unimplemented) << to_string(problem);
        EXPECT_FALSE(made.reason.empty());
        EXPECT_EQ(kernel, nullptr);
    }
};

// The bytes that one unit writes: those that change whatever they were.
std::vector<bool> written_by(
        const kernel_t &kernel, const dequantize_case_t &c, dim_t unit) {
    std::vector<bool> written(c.dst.bytes(), false);
    for (const int before : {0x00, 0xff}) {
        case_buffers_t buffers(c, edge_t::end, 0);
        buffers.fill(c);
        std::memset(buffers.dst(), before, c.dst.bytes());
        kernel.run(buffers.operands(), unit, unit + 1);
        const auto *bytes = static_cast<const unsigned char *>(buffers.dst());
        for (size_t i = 0; i < written.size(); ++i)
            if (bytes[i] != before) written[i] = true;
    }
    return written;
}

TEST_P(kernel_contract, no_two_units_write_one_byte) {
    const std::vector<types_t> types {
            {data_type_t::u4, data_type_t::f32, data_type_t::u4,
                    data_type_t::bf16},
            {data_type_t::s8, data_type_t::f16, data_type_t::s32,
                    data_type_t::f32}};
    for (const auto *shapes :
            {&support::small_shapes(), &support::vector_shapes()})
        support::for_each_case(
                types, *shapes, [&](const dequantize_case_t &c, dim_t n) {
            if (n % 5 != 0) return true; // a sample
            const auto kernel = make(problem_of(c));
            if (!kernel) return true;
            std::vector<bool> all(c.dst.bytes(), false);
            for (dim_t u = 0; u < kernel->work_amount(); ++u) {
                const auto one = written_by(*kernel, c, u);
                for (size_t i = 0; i < one.size(); ++i) {
                    EXPECT_FALSE(one[i] && all[i]) << to_string(c);
                    if (one[i]) all[i] = true;
                }
                if (HasFailure()) return false;
            }
            return true;
        });
}

TEST_P(kernel_contract, has_units_enough_for_threads) {
    dequantize_case_t c;
    c.src.dims = c.dst.dims = {1 << 20};
    c.src.strides = c.dst.strides = {1};
    c.scales.dims = c.scales.strides = {1};
    const auto kernel = make(problem_of(support::with_types(c,
            {data_type_t::u8, data_type_t::f32, data_type_t::undef,
                    data_type_t::f32},
            0)));
    ASSERT_NE(kernel, nullptr);
    EXPECT_GE(kernel->work_amount(), 16);
    EXPECT_LE(kernel->work_amount(), 1 << 16);
}

TEST_P(kernel_contract, runs_no_units_as_nothing) {
    dequantize_case_t c;
    c.src.dims = c.dst.dims = {64};
    c.src.strides = c.dst.strides = {1};
    c.scales.dims = c.scales.strides = {1};
    c = support::with_types(c,
            {data_type_t::u8, data_type_t::f32, data_type_t::undef,
                    data_type_t::f32},
            0);
    const auto kernel = make(problem_of(c));
    ASSERT_NE(kernel, nullptr);
    std::vector<void *> inaccessible(3, reinterpret_cast<void *>(8));
    kernel->run(inaccessible.data(), 0, 0);
    kernel->run(
            inaccessible.data(), kernel->work_amount(), kernel->work_amount());
}

problem_t plain_problem() {
    return {{{64, -1, 0}},
            {{data_type_t::u8, 0, {1}}, {data_type_t::s8, 0, {0}},
                    {data_type_t::f32, 0, {0}}, {data_type_t::f32, 0, {1}}},
            {{step_kind_t::subtract, 1}, {step_kind_t::multiply, 2}}};
}

TEST_P(kernel_contract, takes_the_plain_problem) {
    EXPECT_NE(make(plain_problem()), nullptr);
}

TEST_P(kernel_contract, refuses_other_steps) {
    auto p = plain_problem();
    p.steps = {};
    expect_refused(p);
    p.steps = {{step_kind_t::subtract, 1}};
    expect_refused(p);
    p.steps = {{step_kind_t::multiply, 2}, {step_kind_t::subtract, 1}};
    expect_refused(p);
    p.steps = {{step_kind_t::multiply, 2}, {step_kind_t::multiply, 2}};
    expect_refused(p);
    p.steps = {{step_kind_t::multiply, 2}}; // an operand without a step
    expect_refused(p);
    p.steps = {{step_kind_t::subtract, 1}, {step_kind_t::subtract, 1},
            {step_kind_t::multiply, 2}};
    expect_refused(p);
}

TEST_P(kernel_contract, refuses_other_types) {
    const auto with_type = [](size_t operand, data_type_t type) {
        auto p = plain_problem();
        p.operands[operand].type = type;
        return p;
    };
    expect_refused(with_type(0, data_type_t::f32));
    expect_refused(with_type(0, data_type_t::undef));
    expect_refused(with_type(1, data_type_t::f16));
    expect_refused(with_type(2, data_type_t::s8));
    expect_refused(with_type(3, data_type_t::u8));
    expect_refused(with_type(3, data_type_t::undef));
}

INSTANTIATE_TEST_SUITE_P(kernels, kernel_contract,
        ::testing::Range(size_t {0}, dequantize_rows().size()),
        [](const auto &param_info) {
            return dequantize_rows()[param_info.param].name;
        });

} // namespace
} // namespace dnnl_dequant
