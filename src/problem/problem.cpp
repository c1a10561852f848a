#include "problem/problem.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/bits.hpp"

namespace dnnl_dequant {

namespace {

using used_t = std::vector<bool>; // one a loop

// Distinct indices of the used loops at and below loop `l`, which runs
// `extent` times. A loop that is not used counts once, but its longest
// children are met in it whenever it runs more than once.
dim_t count_below(
        const problem_t &problem, const used_t &used, size_t l, dim_t extent) {
    dim_t full = 1, last = 1;
    for (size_t c = 0; c < problem.loops.size(); ++c) {
        const auto &child = problem.loops[c];
        if (child.parent != static_cast<int>(l)) continue;
        full *= count_below(problem, used, c, child.extent);
        last *= count_below(problem, used, c, child.last_extent);
    }
    if (extent == 0) return 0;
    if (used[l]) return (extent - 1) * full + last;
    return extent > 1 ? full : last;
}

dim_t count(const problem_t &problem, const used_t &used) {
    dim_t product = 1;
    for (size_t l = 0; l < problem.loops.size(); ++l)
        if (problem.loops[l].parent < 0)
            product *= count_below(problem, used, l, problem.loops[l].extent);
    return product;
}

std::string name_of_operand(const problem_t &problem, size_t o) {
    if (o == 0) return "src";
    if (o + 1 == problem.operands.size()) return "dst";
    return "arg" + std::to_string(o);
}

std::string to_string(const loop_t &loop) {
    std::string text = std::to_string(loop.extent);
    if (loop.parent >= 0)
        text += '~' + std::to_string(loop.last_extent) + '@'
                + std::to_string(loop.parent);
    return text;
}

} // namespace

const char *to_string(step_kind_t kind) {
    switch (kind) {
    case step_kind_t::subtract: return "sub";
    case step_kind_t::multiply: return "mul";
    case step_kind_t::divide: return "div";
    case step_kind_t::multiply_reciprocal: return "mul_rcp";
    case step_kind_t::add: return "add";
    case step_kind_t::clamp: return "clamp";
    case step_kind_t::saturate: return "saturate";
    case step_kind_t::offset: return "offset";
    case step_kind_t::nearest: return "nearest";
    case step_kind_t::round: return "round";
    case step_kind_t::push: return "push";
    case step_kind_t::pop_add: return "pop_add";
    case step_kind_t::dup: return "dup";
    case step_kind_t::pop_multiply: return "pop_mul";
    case step_kind_t::function: return "function";
    }
    return "unknown";
}

namespace {

std::string two_numbers(float a, float b) {
    char text[64];
    std::snprintf(text, sizeof(text), ":%.9g:%.9g", static_cast<double>(a),
            static_cast<double>(b));
    return text;
}

bool has_parameters(function_t function) {
    return function == function_t::elu || function == function_t::hard_sigmoid
           || function == function_t::hard_swish
           || function == function_t::leaky_relu;
}

std::string to_string(const problem_t &problem, const step_t &step) {
    std::string text = step.kind == step_kind_t::function
                               ? to_string(step.function)
                               : to_string(step.kind);
    if (has_operand(step.kind))
        text += ':'
                + name_of_operand(problem, static_cast<size_t>(step.operand));
    if (step.kind == step_kind_t::round)
        text += std::string(":") + to_string(step.type);
    if (step.kind == step_kind_t::clamp || step.kind == step_kind_t::saturate)
        text += two_numbers(step.lower, step.upper);
    if (step.has_small_quotients) text += ":small";
    if (has_parameters(step.function))
        text += two_numbers(step.alpha, step.beta);
    return text;
}

} // namespace

bool has_operand(step_kind_t kind) {
    switch (kind) {
    case step_kind_t::subtract:
    case step_kind_t::multiply:
    case step_kind_t::divide:
    case step_kind_t::multiply_reciprocal:
    case step_kind_t::add:
    case step_kind_t::offset:
    case step_kind_t::push: return true;
    case step_kind_t::clamp:
    case step_kind_t::saturate:
    case step_kind_t::nearest:
    case step_kind_t::round:
    case step_kind_t::pop_add:
    case step_kind_t::dup:
    case step_kind_t::pop_multiply:
    case step_kind_t::function: return false;
    }
    return false;
}

size_t count_dequantize_steps(const std::vector<step_t> &steps) {
    const bool has_zps
            = !steps.empty() && steps.front().kind == step_kind_t::subtract;
    const size_t count = has_zps ? 2 : 1;
    return steps.size() >= count
                           && steps[count - 1].kind == step_kind_t::multiply
                   ? count
                   : 0;
}

bool is_dequantize(const std::vector<step_t> &steps) {
    return !steps.empty() && count_dequantize_steps(steps) == steps.size();
}

const char *to_string(function_t function) {
    switch (function) {
    case function_t::none: break;
    case function_t::abs: return "abs";
    case function_t::elu: return "elu";
    case function_t::exp: return "exp";
    case function_t::gelu_erf: return "gelu_erf";
    case function_t::gelu_tanh: return "gelu_tanh";
    case function_t::hard_sigmoid: return "hard_sigmoid";
    case function_t::hard_swish: return "hard_swish";
    case function_t::leaky_relu: return "leaky_relu";
    case function_t::sigmoid: return "sigmoid";
    case function_t::sqrt: return "sqrt";
    case function_t::square: return "square";
    case function_t::tanh: return "tanh";
    }
    return "none";
}

dim_t element_count(const problem_t &problem) {
    return count(problem, used_t(problem.loops.size(), true));
}

dim_t bytes_to_move(const problem_t &problem) {
    dim_t bytes = 0;
    for (const auto &operand : problem.operands) {
        used_t used;
        for (const dim_t stride : operand.strides)
            used.push_back(stride != 0);
        bytes += bytes_of(operand.type, count(problem, used));
    }
    return bytes;
}

bool may_overwrite(const problem_t &problem, size_t operand) {
    const operand_t &from = problem.operands[operand], &dst = problem.dst();
    return operand + 1 < problem.operands.size()
           && bits_of(from.type) == bits_of(dst.type)
           && from.offset == dst.offset && from.strides == dst.strides;
}

bool is_plain(const problem_t &problem, size_t loop) {
    const auto &loops = problem.loops;
    return loops[loop].parent < 0
           && std::none_of(loops.begin(), loops.end(), [loop](const loop_t &l) {
        return l.parent == static_cast<int>(loop);
    });
}

std::string to_string(const problem_t &problem) {
    std::string text;
    for (size_t l = 0; l < problem.loops.size(); ++l)
        text += (l ? "x" : "") + to_string(problem.loops[l]);
    if (problem.loops.empty()) text = "scalar";
    for (size_t o = 0; o < problem.operands.size(); ++o) {
        const auto &operand = problem.operands[o];
        text += ';' + name_of_operand(problem, o) + ':';
        text += to_string(operand.type);
        if (operand.offset) text += '+' + std::to_string(operand.offset);
        for (const dim_t stride : operand.strides)
            text += ':' + std::to_string(stride);
    }
    for (const auto &step : problem.steps)
        text += ';' + to_string(problem, step);
    if (problem.parts > 1) text += ";parts:" + std::to_string(problem.parts);
    return text;
}

} // namespace dnnl_dequant
