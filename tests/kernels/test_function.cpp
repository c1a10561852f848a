// The functions of kernels/elementwise: near what doubles give, and the same
// bits from every kernel.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/elementwise/function.hpp"
#include "kernels/kernel_rows.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace {

using f = function_t;

step_t step_of(f function) {
    step_t step {step_kind_t::function};
    step.function = function;
    step.alpha = function == f::hard_swish ? 1.f / 6 : 0.25f;
    step.beta = 0.5f;
    return step;
}

double exact(const step_t &step, double x) {
    const double alpha = static_cast<double>(step.alpha);
    const double beta = static_cast<double>(step.beta);
    // NaN gives 1.
    const double hard = std::min(std::max(alpha * x + beta, 0.), 1.);
    switch (step.function) {
    case f::none: break;
    case f::abs: return std::fabs(x);
    case f::elu: return x < 0 ? alpha * std::expm1(x) : x;
    case f::exp: return std::exp(x);
    case f::gelu_erf: return x * std::erfc(-x / std::sqrt(2.)) / 2;
    case f::gelu_tanh:
        return x
               / (1
                       + std::exp(-2 * std::sqrt(2 / std::acos(-1.))
                                  * (x + 0.044715 * x * x * x)));
    case f::hard_sigmoid: return hard;
    case f::hard_swish: return x * hard;
    case f::leaky_relu: return x < 0 ? alpha * x : x;
    case f::sigmoid: return 1 / (1 + std::exp(-x));
    case f::sqrt: return std::sqrt(x);
    case f::square: return x * x;
    case f::tanh: return std::tanh(x);
    }
    return x;
}

// The bound of the error: units in the last place of the value, and of a number
// that the value is a difference of.
struct bound_t {
    f function;
    double units, of_term;
};
const bound_t bounds[] = {{f::abs, 0, 0}, {f::elu, 2, 0.5}, {f::exp, 2, 0},
        {f::gelu_erf, 8, 0}, {f::gelu_tanh, 8, 1}, {f::hard_sigmoid, 2, 1},
        {f::hard_swish, 2, 4}, {f::leaky_relu, 0.5, 0}, {f::sigmoid, 4, 0},
        {f::sqrt, 0.5, 0}, {f::square, 0.5, 0}, {f::tanh, 4, 0}};

// Every 9973rd number, and those around the ends.
template <typename use_t>
void for_each_number(use_t &&use) {
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 9973) {
        const auto narrow = static_cast<uint32_t>(bits);
        float x;
        std::memcpy(&x, &narrow, sizeof(x));
        use(x);
    }
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (const float x : {0.f, -0.f, inf, -inf, 88.72f, -87.34f, -103.97f,
                 std::numeric_limits<float>::quiet_NaN()})
        use(x);
}

TEST(function, is_near_what_doubles_give) {
    for (const bound_t &bound : bounds) {
        const step_t step = step_of(bound.function);
        const program_t program = make_function(step);
        double worst = 0;
        float worst_at = 0;
        for_each_number([&](float x) {
            const double expected = exact(step, static_cast<double>(x));
            const float got = evaluate(program, x);
            const auto rounded = static_cast<float>(expected);
            if (std::isnan(rounded) || std::isinf(rounded)) {
                EXPECT_TRUE(std::isnan(got) || std::isinf(got)) << x;
                EXPECT_TRUE(std::isnan(rounded) || got == rounded)
                        << x << ' ' << got;
                return;
            }
            // Below the normal numbers, one of them is as small as they get.
            const double unit
                    = std::exp2(std::max(std::ilogb(rounded), -126) - 23);
            const double error
                    = std::fabs(static_cast<double>(got) - expected)
                      / (bound.units * unit + bound.of_term * std::exp2(-24)
                              + std::exp2(-149));
            if (!(error <= worst)) {
                worst = error;
                worst_at = x;
            }
        });
        EXPECT_LE(worst, 1) << to_string(bound.function) << " of " << worst_at;
    }
}

problem_t problem_of(const step_t &step, dim_t count) {
    problem_t problem;
    problem.loops = {{count}};
    problem.operands = {{data_type_t::f32, 0, {1}}, {data_type_t::f32, 0, {1}}};
    problem.steps = {{step_kind_t::dup}, step, {step_kind_t::pop_multiply}};
    if (step.alpha != 0) problem.steps = {step};
    return problem;
}

// Bits that are no NaN's.
uint32_t bits_of(float x) {
    uint32_t bits = 0;
    if (!std::isnan(x)) std::memcpy(&bits, &x, sizeof(bits));
    return std::isnan(x) ? 0x7fc00000u : bits;
}

TEST(function, coarse_exp_is_near_what_doubles_give) {
    const program_t exp = make_coarse_exp();
    EXPECT_EQ(evaluate(exp, 0.f), 1.f);
    for (float x = 0; x > -87.f; x -= 0.0007f) {
        const double want = std::exp(double(x));
        ASSERT_NEAR(evaluate(exp, x), want, 1e-5 * want) << x;
    }
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float x : {-104.f, -1e4f, -1e30f, -infinity})
        EXPECT_EQ(evaluate(exp, x), 0.f) << x;
    EXPECT_TRUE(
            std::isnan(evaluate(exp, std::numeric_limits<float>::quiet_NaN())));
}

TEST(function, gives_the_same_bits_on_every_kernel) {
    std::vector<float> numbers;
    for_each_number([&](float x) { numbers.push_back(x); });
    const auto count = static_cast<dim_t>(numbers.size());
    const kernel_factory_t generated[]
            = {make_jit_elementwise_avx512_core, make_jit_elementwise_avx2};
    for (const bound_t &bound : bounds)
        for (const bool alone : {true, false}) {
            step_t step = step_of(bound.function);
            if (!alone) step.alpha = 0;
            const problem_t problem = problem_of(step, count);
            const auto run = [&](kernel_factory_t make, isa_t isa) {
                std::vector<float> dst(numbers.size());
                std::shared_ptr<const kernel_t> kernel;
                EXPECT_TRUE(make(problem, isa, kernel).ok());
                void *const buffers[] = {numbers.data(), dst.data()};
                kernel->run(buffers, 0, kernel->work_amount());
                return dst;
            };
            const auto expected = run(make_ref_elementwise, isa_none);
            for (const auto make : generated) {
                const isa_t isa
                        = make == generated[0] ? isa_avx512_core : isa_avx2;
                if (!has(isa_of_machine(), isa)) continue;
                const auto got = run(make, isa);
                for (size_t i = 0; i < numbers.size(); ++i)
                    ASSERT_EQ(bits_of(got[i]), bits_of(expected[i]))
                            << to_string(bound.function) << " of " << numbers[i]
                            << ": " << got[i] << ", expected " << expected[i];
            }
        }
}

} // namespace
} // namespace dnnl_dequant
