#ifndef KERNELS_ELEMENTWISE_FUNCTION_HPP
#define KERNELS_ELEMENTWISE_FUNCTION_HPP

#include <vector>

#include "problem/problem.hpp"

namespace dnnl_dequant {

/// One operation on f32 registers: d, a, and either b or a constant. Each
/// rounds once; a NaN stays one.
enum class operation_t {
    load,          // d = b
    add,           // d = a + b
    subtract,      // d = a - b
    multiply,      // d = a * b
    divide,        // d = a / b
    fma,           // d = d * a + b
    fnma,          // d = d - a * b
    min,           // d = d < a ? d : a
    max,           // d = d > a ? d : a
    absolute,      // d = |a|
    less_absolute, // d = -|a|
    nearest,       // d = a to the nearest integer, even at ties
    scale,         // d = a > vanishing_exponent ? d * 2^a : 0; a is an integer,
                   // and `b` is lost
    if_negative,   // d = b's sign bit is set ? a : d
    root,          // d = sqrt(a)
};

/// Numbers below 2 are scaled to 0, or to less than the smallest denormal
/// number, by 2 to this power or a smaller one. Many CPUs take some hundred
/// cycles for a product that underflows, so none is computed.
constexpr float vanishing_exponent = -150.f;

struct instruction_t {
    operation_t operation;
    int d = 0, a = 0;
    int b = -1; // -1: the constant
    float constant = 0;
};

/// A function as instructions on registers 0 to 3, of which 0 is argument and
/// value. Plain C++ and generated code run the same program, so that they give
/// the same bits.
using program_t = std::vector<instruction_t>;
constexpr int program_registers = 4;

/// Returns the program; empty for a step that is no function.
program_t make_function(const step_t &step);

/// e^x
program_t make_exp();
/// e^x of x <= 0, within 1e-5 of it as a ratio: for what is rounded to 16 bits.
program_t make_coarse_exp();

/// Runs the program in plain C++.
float evaluate(const program_t &program, float x);

} // namespace dnnl_dequant

#endif
