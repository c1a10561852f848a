#include <string>

#include "base/convert.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace dnnl_dequant {

namespace {

result_t refuse(const std::string &why) {
    return {status_t::unimplemented, why};
}

result_t check_operand(const problem_t &problem, const step_t &step) {
    if (!has_operand(step.kind)) return {};
    if (step.operand <= 0
            || step.operand + 1 >= static_cast<int>(problem.operands.size()))
        return refuse("a step names no operand between src and dst");
    const data_type_t type
            = problem.operands[static_cast<size_t>(step.operand)].type;
    if (!is_known(type)) return refuse("an operand is of no data type of ours");
    if (step.kind == step_kind_t::offset && !is_integer(type))
        return refuse("an offset is no integer");
    return {};
}

result_t check_dst(const problem_t &problem) {
    const data_type_t dst = problem.dst().type;
    if (problem.steps.empty() && dst == problem.src().type) return {};
    if (!is_known(dst) || bits_of(dst) > 32 || dst == data_type_t::e8m0)
        return refuse(std::string(to_string(dst))
                      + " dst, expected a type of at most 32 bits, not e8m0");
    return {};
}

} // namespace

result_t check_elementwise(const problem_t &problem) {
    if (!is_known(problem.src().type))
        return refuse("src is of no data type of ours");
    bool held = false, is_offset = false;
    for (const step_t &step : problem.steps) {
        if (result_t result = check_operand(problem, step); !result.ok())
            return result;
        if (step.kind == step_kind_t::round && !is_result_type(step.type))
            return refuse(std::string("a step rounds to ")
                          + to_string(step.type)
                          + ", expected f32, bf16 or f16");
        if (is_offset && step.kind != step_kind_t::saturate)
            return refuse("a step but saturate follows an offset");
        is_offset |= step.kind == step_kind_t::offset;
        if (step.kind == step_kind_t::hold && held)
            return refuse("two values are held at once");
        if (step.kind == step_kind_t::add_held && !held)
            return refuse("no value is held");
        if (step.kind == step_kind_t::hold) held = true;
        if (step.kind == step_kind_t::add_held) held = false;
    }
    if (held) return refuse("a held value is never added");
    if (is_offset && !is_integer(problem.dst().type))
        return refuse("dst is no integer, but there is an offset");
    return check_dst(problem);
}

} // namespace dnnl_dequant
