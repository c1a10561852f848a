#ifndef PROBLEM_PROBLEM_HPP
#define PROBLEM_PROBLEM_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "base/data_type.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// Loops that kernels take: two a dimension, twelve dimensions.
constexpr size_t max_loops = 24;

/// Operands, dst among them, that kernels and products take.
constexpr size_t max_operands = 16;

/// One loop of the nest.
///
/// A loop that names a parent runs `last_extent` times, not `extent` times,
/// in the last iteration of that parent: this is how a short last group is
/// said. The parent stands further out in the nest.
struct loop_t {
    dim_t extent = 1;
    int parent = -1;
    dim_t last_extent = 0; // meaningful with a parent only

    bool operator==(const loop_t &other) const {
        return extent == other.extent && parent == other.parent
               && last_extent == other.last_extent;
    }
};

/// One tensor as the loops see it: element `offset + sum(index[l] *
/// strides[l])` of a buffer. Everything is counted in elements, for 4-bit
/// types too (whose element 2i is the low half of byte i).
struct operand_t {
    data_type_t type = data_type_t::undef;
    dim_t offset = 0;
    dims_t strides; // one a loop; 0 where the operand does not vary

    bool operator==(const operand_t &other) const {
        return type == other.type && offset == other.offset
               && strides == other.strides;
    }
};

/// A step changes the value on its way from src to dst. Each step that
/// computes rounds once, to f32:
///   subtract   value - operand. Two integers: exact in 64 bits, then rounded.
///   multiply   value * operand, both as f32.
///   divide     value / operand, both as f32.
///   multiply_reciprocal  value * (1 / operand), both as f32, each rounded.
///   add        value + operand, both as f32.
///   clamp      the larger of value and `lower` (`lower` where value is NaN or
///              both are zeros), then the smaller of that and `upper`.
///   saturate   the nearest of [lower, upper]; NaN stays NaN.
///   offset     the nearest integer of value, even at ties, 0 for NaN; then
///              plus operand, an integer, exactly. A saturate or a rounding to
///              an integer type follows, perhaps dst's.
///   nearest    the nearest integer of value, even at ties, as f32; NaN and
///              infinities stay, and so does the sign of a zero.
///   round      to the nearest value of `type`, as if stored as dst and loaded
///              again.
///   push       the value is put aside; operand is the value from here on. At
///              most one value is aside.
///   pop_add    pushed value + value.
///   dup        the value is put aside and goes on.
///   pop_multiply  pushed value * value.
///   function   one of function_t, of the value as f32.
enum class step_kind_t {
    subtract,
    multiply,
    divide,
    multiply_reciprocal,
    add,
    clamp,
    saturate,
    offset,
    nearest,
    round,
    push,
    pop_add,
    dup,
    pop_multiply,
    function
};

/// Functions of one f32, each the same sequence of f32 operations on every
/// kernel (kernels/elementwise/function.cpp). An inexact function is off by
/// some units in the last place. For small results of gelu and elu these are
/// units of the formula's largest term.
enum class function_t {
    none,
    abs,
    elu, // x < 0 ? alpha * (e^x - 1) : x
    exp,
    gelu_erf,     // x * Phi(x), the normal distribution's
    gelu_tanh,    // x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
    hard_sigmoid, // alpha * x + beta within [0, 1]
    hard_swish,   // x * hard_sigmoid(x)
    leaky_relu,   // x < 0 ? alpha * x : x
    sigmoid,
    sqrt,
    square,
    tanh
};
const char *to_string(function_t function);
const char *to_string(step_kind_t kind);

/// True where a step of that kind names an operand.
bool has_operand(step_kind_t kind);

struct step_t {
    step_kind_t kind;
    int operand = -1;                      // index into problem_t::operands
    data_type_t type = data_type_t::undef; // of round
    float lower = 0, upper = 0;            // of clamp and saturate
    function_t function = function_t::none;
    float alpha = 0, beta = 0; // of some functions
    /// True if a division gives NaN or some hundreds at most, whatever the
    /// buffers hold. Divisors below 2^-60 are an exception.
    bool has_small_quotients = false;

    bool operator==(const step_t &other) const {
        return kind == other.kind && operand == other.operand
               && type == other.type && lower == other.lower
               && upper == other.upper && function == other.function
               && alpha == other.alpha && beta == other.beta
               && has_small_quotients == other.has_small_quotients;
    }
};

/// How many steps at the front are those of a dequantize, [subtract,] multiply;
/// 0 if there is no multiply.
size_t count_dequantize_steps(const std::vector<step_t> &steps);

/// True if the steps are those of a dequantize and no more.
bool is_dequantize(const std::vector<step_t> &steps);

/// The canonical form of every element-wise problem. For each point of the loop
/// nest: read src, apply the steps, round once to dst's type and store. A
/// result that is an integer is the nearest, even at ties, within its range; 0
/// for NaN. Without steps, and with dst of src's type, elements are copied. The
/// problem is the kernel's argument, the kernel cache's key, the log line and
/// the benchmark's name.
///
/// Invariants, established by make_problem():
/// - loops stand outermost first, in falling order of dst's stride; none has
///   extent 1; neighbours whose strides compose are merged;
/// - operands[0] is src, operands.back() is dst; no two points of the nest
///   share an element of dst;
/// - nothing to do is exactly one loop, of extent 0.
struct problem_t {
    std::vector<loop_t> loops;
    std::vector<operand_t> operands;
    std::vector<step_t> steps;
    /// So many problems of this size are computed one behind the other. Kernels
    /// may choose by the memory that all of them move. Results do not depend on
    /// it.
    dim_t parts = 1;

    const operand_t &src() const { return operands.front(); }
    const operand_t &dst() const { return operands.back(); }

    bool operator==(const problem_t &other) const {
        return loops == other.loops && operands == other.operands
               && steps == other.steps && parts == other.parts;
    }
};

/// Points of the nest, short last groups counted as what they are.
dim_t element_count(const problem_t &problem);

/// The bytes that any kernel must move: each distinct element of each operand
/// once.
dim_t bytes_to_move(const problem_t &problem);

/// True if dst may lie in the operand's place. Each element of the operand then
/// has the same bits and the same place in dst, so it is overwritten at the
/// only point that reads it.
bool may_overwrite(const problem_t &problem, size_t operand);

/// True if the loop runs as often in every iteration of the others, and they in
/// its: neither names the other as its parent.
bool is_plain(const problem_t &problem, size_t loop);

/// One line without spaces or commas, for logs and benchmark names, different
/// for different problems. The loops, each operand's type and strides, the
/// steps: "2x100x32~4@1;src:u4:3172:32:1;arg1:f32:100:1:0;dst:f32:3172:32:1;
/// mul:arg1" is a nest whose third loop runs 4 times, not 32, in the last
/// iteration of loop 1. An operand's element offset follows its type: "u4+3".
/// Parts come last, if there are several: ";parts:16".
std::string to_string(const problem_t &problem);

} // namespace dnnl_dequant

#endif
