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
    return {};
}

} // namespace

result_t check_elementwise(const problem_t &problem) {
    if (!is_known(problem.src().type))
        return refuse("src is of no data type of ours");
    bool held = false;
    for (const step_t &step : problem.steps) {
        if (result_t result = check_operand(problem, step); !result.ok())
            return result;
        if (step.kind == step_kind_t::round && !is_result_type(step.type))
            return refuse(std::string("a step rounds to ")
                          + to_string(step.type)
                          + ", expected f32, bf16 or f16");
        if (step.kind == step_kind_t::hold && held)
            return refuse("two values are held at once");
        if (step.kind == step_kind_t::add_held && !held)
            return refuse("no value is held");
        if (step.kind == step_kind_t::hold) held = true;
        if (step.kind == step_kind_t::add_held) held = false;
    }
    if (held) return refuse("a held value is never added");
    const data_type_t dst = problem.dst().type;
    const bool copies = problem.steps.empty() && dst == problem.src().type;
    if (!copies && !is_result_type(dst))
        return refuse(std::string(to_string(dst))
                      + " dst, expected f32, bf16 or f16");
    return {};
}

} // namespace dnnl_dequant
