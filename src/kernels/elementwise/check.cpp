#include <string>

#include "base/convert.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace dnnl_dequant {

namespace {

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

bool can_store(data_type_t type) {
    return is_known(type) && bits_of(type) <= 32 && type != data_type_t::e8m0;
}
constexpr const char *storable
        = ", expected a type of at most 32 bits, not e8m0";

result_t check_dst(const problem_t &problem) {
    const data_type_t dst = problem.dst().type;
    if (problem.steps.empty() && dst == problem.src().type) return {};
    if (!can_store(dst))
        return refuse(std::string(to_string(dst)) + " dst" + storable);
    return {};
}

} // namespace

result_t check_elementwise(const problem_t &problem) {
    if (!is_known(problem.src().type))
        return refuse("src is of no data type of ours");
    bool pushed = false, is_offset = false;
    for (const step_t &step : problem.steps) {
        if (result_t result = check_operand(problem, step); !result.ok())
            return result;
        const bool rounds = step.kind == step_kind_t::round;
        if (rounds && !can_store(step.type))
            return refuse(std::string("a step rounds to ")
                          + to_string(step.type) + storable);
        if (is_offset && step.kind != step_kind_t::saturate
                && !(rounds && is_integer(step.type)))
            return refuse("neither saturate nor rounding to an integer type "
                          "follows an offset");
        is_offset = step.kind == step_kind_t::offset || (is_offset && !rounds);
        const bool pushes = step.kind == step_kind_t::push
                            || step.kind == step_kind_t::dup;
        const bool pops = step.kind == step_kind_t::pop_add
                          || step.kind == step_kind_t::pop_multiply;
        if (pushes && pushed) return refuse("two values are pushed at once");
        if (pops && !pushed) return refuse("no value is pushed");
        pushed = pushes || (pushed && !pops);
    }
    if (pushed) return refuse("a pushed value is never added");
    if (is_offset && !is_integer(problem.dst().type))
        return refuse("dst is no integer, but there is an offset");
    return check_dst(problem);
}

} // namespace dnnl_dequant
