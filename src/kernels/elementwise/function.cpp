#include "kernels/elementwise/function.hpp"

#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace dnnl_dequant {

namespace {

using o = operation_t;

// A program under construction; r0 is argument and value.
class builder_t {
public:
    struct reg_t {
        int index;
    };
    static constexpr reg_t r0 {0}, r1 {1}, r2 {2}, r3 {3};

    void with(o operation, reg_t d, reg_t a, reg_t b) {
        program_.push_back({operation, d.index, a.index, b.index, 0});
    }
    void with(o operation, reg_t d, reg_t a, float constant) {
        program_.push_back({operation, d.index, a.index, -1, constant});
    }
    void load(reg_t d, reg_t b) { with(o::load, d, d, b); }
    void load(reg_t d, float constant) { with(o::load, d, d, constant); }

    // d = ((first * x + next) * x + ...) * x + last
    void polynomial(reg_t d, reg_t x, std::initializer_list<float> factors) {
        bool first = true;
        for (const float factor : factors) {
            if (first) load(d, factor);
            else with(o::fma, d, x, factor);
            first = false;
        }
    }

    // x = e^x; the bounds are beyond 0 and infinity.
    void exp(reg_t x, reg_t n, reg_t p) {
        load(n, 89.f);
        with(o::min, n, x, n);
        load(x, -104.f);
        with(o::max, x, n, n);
        bounded_exp(x, n, p);
    }

    // The same of x <= 0, and of x >= 0.
    void exp_of_negative(reg_t x, reg_t n, reg_t p) {
        load(n, -104.f);
        with(o::max, n, x, x);
        load(x, n);
        bounded_exp(x, n, p);
    }
    void exp_of_positive(reg_t x, reg_t n, reg_t p) {
        load(n, 89.f);
        with(o::min, n, x, x);
        load(x, n);
        bounded_exp(x, n, p);
    }

    // The same of finite numbers and NaN, by 2^n * e^r, |r| <= ln(2) / 2; the
    // polynomial is the best one within 8e-9.
    void bounded_exp(reg_t x, reg_t n, reg_t p) {
        with(o::multiply, n, x, 1.44269504f);
        with(o::nearest, n, n, n);
        // ln(2) in two parts, of which the first has zeros at its end.
        with(o::fnma, x, n, 0.693145752f);
        with(o::fnma, x, n, 1.42860682e-6f);
        polynomial(p, x,
                {1.39261836e-3f, 8.36317905e-3f, 4.16665546e-2f, 0.16666577f,
                        0.5f, 1.f, 1.f});
        with(o::scale, p, n, x);
        load(x, p);
    }

    // The same of x <= 0 by 2^n * 2^r. The polynomial is the best one of its
    // degree whose value at 0 is 1, within 3e-6. If x is -infinity, r
    // is no number, but n is so small that the value is 0.
    void coarse_exp(reg_t x, reg_t n, reg_t p) {
        with(o::multiply, x, x, 1.44269504f);
        with(o::nearest, n, x, x);
        with(o::subtract, x, x, n);
        polynomial(p, x,
                {9.58285294e-3f, 5.59064262e-2f, 0.240240991f, 0.693124175f,
                        1.f});
        with(o::scale, p, n, x);
        load(x, p);
    }

    // 1 / (1 + e^-y) of what has r0's sign and lies in r1, to r3.
    void sigmoid_of_r1() {
        with(o::less_absolute, r1, r1, r1);
        exp_of_negative(r1, r2, r3);
        with(o::add, r2, r1, 1.f);
        load(r3, 1.f);
        with(o::if_negative, r3, r1, r0);
        with(o::divide, r3, r3, r2);
    }

    void sigmoid() {
        load(r1, r0);
        sigmoid_of_r1();
        load(r0, r3);
    }

    // x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 x^3))
    void gelu_tanh() {
        with(o::multiply, r2, r0, r0);
        load(r1, 7.13548163e-2f);
        with(o::fma, r1, r2, 1.59576912f);
        with(o::multiply, r1, r1, r0);
        sigmoid_of_r1();
        with(o::multiply, r0, r0, r3);
    }

    // t = |x|, bounded where Phi(-t) is 0.
    void bounded_absolute(reg_t t, reg_t scratch) {
        with(o::absolute, scratch, r0, r0);
        load(t, 14.5f);
        with(o::min, t, scratch, scratch);
    }

    // x * Phi(x) with Phi(-t) = e^(-t^2 / 2) * Q(u) * u, u = 1 / (1 + t / 4),
    // and Phi(t) = 1 - Phi(-t). The polynomial Q is within 2e-9.
    void gelu_erf() {
        bounded_absolute(r2, r1);
        with(o::multiply, r1, r2, r2);
        with(o::multiply, r1, r1, -0.5f);
        bounded_exp(r1, r2, r3);
        // Times e^(-rest / 2) for what rounding has left of t^2.
        bounded_absolute(r3, r2);
        with(o::multiply, r2, r3, r3);
        with(o::fnma, r2, r3, r3);
        with(o::multiply, r2, r2, 0.5f);
        with(o::fma, r2, r1, r1);
        load(r1, r2);
        with(o::multiply, r3, r3, 0.25f);
        with(o::add, r3, r3, 1.f);
        load(r2, 1.f);
        with(o::divide, r2, r2, r3);
        polynomial(r3, r2,
                {1.49936323e-2f, -5.4129511e-2f, 3.11430443e-2f, 5.60126943e-2f,
                        -1.04550662e-2f, 9.92457237e-2f, 6.75812657e-2f,
                        9.6480224e-2f, 9.93738123e-2f, 9.97541828e-2f});
        with(o::multiply, r3, r3, r2);
        with(o::multiply, r1, r1, r3);
        load(r2, 1.f);
        with(o::subtract, r2, r2, r1);
        with(o::if_negative, r2, r1, r0);
        with(o::multiply, r0, r0, r2);
    }

    // Up to 0.55 x + x^3 * P(x^2), P within 4e-9; beyond it 1 - 2 / (e^2x + 1).
    void tanh() {
        with(o::absolute, r1, r0, r0);
        with(o::add, r1, r1, r1);
        exp_of_positive(r1, r2, r3);
        with(o::add, r1, r1, 1.f);
        load(r2, 2.f);
        with(o::divide, r2, r2, r1);
        load(r1, 1.f);
        with(o::subtract, r1, r1, r2);
        load(r2, 0.f);
        with(o::subtract, r2, r2, r1);
        with(o::if_negative, r1, r2, r0);
        with(o::multiply, r2, r0, r0);
        polynomial(r3, r2,
                {-6.61022783e-3f, 2.13093887e-2f, -5.39094288e-2f, 0.133331137f,
                        -0.33333332f});
        with(o::multiply, r3, r3, r2);
        with(o::fma, r3, r0, r0);
        with(o::absolute, r2, r0, r0);
        with(o::subtract, r2, r2, 0.55f);
        load(r0, r1);
        with(o::if_negative, r0, r3, r2);
    }

    void elu(float alpha) {
        load(r1, r0);
        exp(r1, r2, r3);
        with(o::subtract, r1, r1, 1.f);
        with(o::multiply, r1, r1, alpha);
        with(o::if_negative, r0, r1, r0);
    }

    void leaky_relu(float alpha) {
        with(o::multiply, r1, r0, alpha);
        with(o::if_negative, r0, r1, r0);
    }

    // To r2.
    void hard_sigmoid(float alpha, float beta) {
        with(o::multiply, r1, r0, alpha);
        with(o::add, r1, r1, beta);
        load(r2, 1.f);
        with(o::min, r2, r1, r1);
        load(r1, 0.f);
        with(o::max, r1, r2, r2);
        load(r2, r1);
    }

    program_t take() { return std::move(program_); }

private:
    program_t program_;
};

constexpr builder_t::reg_t builder_t::r0, builder_t::r1, builder_t::r2,
        builder_t::r3;

float scaled(float x, float exponent) {
    if (std::isnan(exponent)) return exponent;
    return exponent > vanishing_exponent
                   ? std::ldexp(x, static_cast<int>(exponent))
                   : 0.f;
}

float result_of(const instruction_t &instruction, float d, float a, float b) {
    switch (instruction.operation) {
    case o::load: return b;
    case o::add: return a + b;
    case o::subtract: return a - b;
    case o::multiply: return a * b;
    case o::divide: return a / b;
    case o::fma: return std::fma(d, a, b);
    case o::fnma: return std::fma(-a, b, d);
    case o::min: return d < a ? d : a;
    case o::max: return d > a ? d : a;
    case o::absolute: return std::fabs(a);
    case o::less_absolute: return -std::fabs(a);
    case o::nearest: return std::nearbyint(a);
    case o::scale: return scaled(d, a);
    case o::if_negative: return std::signbit(b) ? a : d;
    case o::root: return std::sqrt(a);
    }
    return d;
}

} // namespace

program_t make_function(const step_t &step) {
    using b = builder_t;
    builder_t builder;
    switch (step.function) {
    case function_t::none: break;
    case function_t::abs: builder.with(o::absolute, b::r0, b::r0, b::r0); break;
    case function_t::elu: builder.elu(step.alpha); break;
    case function_t::exp: builder.exp(b::r0, b::r1, b::r2); break;
    case function_t::gelu_erf: builder.gelu_erf(); break;
    case function_t::gelu_tanh: builder.gelu_tanh(); break;
    case function_t::hard_sigmoid:
        builder.hard_sigmoid(step.alpha, step.beta);
        builder.load(b::r0, b::r2);
        break;
    case function_t::hard_swish:
        builder.hard_sigmoid(step.alpha, step.beta);
        builder.with(o::multiply, b::r0, b::r0, b::r2);
        break;
    case function_t::leaky_relu: builder.leaky_relu(step.alpha); break;
    case function_t::sigmoid: builder.sigmoid(); break;
    case function_t::sqrt: builder.with(o::root, b::r0, b::r0, b::r0); break;
    case function_t::square:
        builder.with(o::multiply, b::r0, b::r0, b::r0);
        break;
    case function_t::tanh: builder.tanh(); break;
    }
    return builder.take();
}

program_t make_exp() {
    builder_t builder;
    builder.exp(builder_t::r0, builder_t::r1, builder_t::r2);
    return builder.take();
}

program_t make_coarse_exp() {
    builder_t builder;
    builder.coarse_exp(builder_t::r0, builder_t::r1, builder_t::r2);
    return builder.take();
}

float evaluate(const program_t &program, float x) {
    std::array<float, program_registers> r {x};
    const auto at = [&r](int index) -> float & {
        return r[static_cast<size_t>(index)];
    };
    for (const instruction_t &i : program)
        at(i.d) = result_of(
                i, at(i.d), at(i.a), i.b < 0 ? i.constant : at(i.b));
    return r[0];
}

} // namespace dnnl_dequant
