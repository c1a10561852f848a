#include "lower/matmul_src.hpp"

#include <algorithm>

#include "graph/logical_tensor.hpp"
#include "lower/blocks.hpp"
#include "lower/lower.hpp"
#include "lower/matmul_sizes.hpp"

namespace dnnl_dequant {

namespace {

// Loops are merged: there is one, or one of rows and one along them.
bool is_rows(const problem_t &problem, dim_t depth) {
    const auto &loops = problem.loops;
    const operand_t &src = problem.src();
    if (loops.empty()) return true;
    if (loops.size() > 2 || src.strides.back() != 1
            || problem.dst().strides.back() != 1)
        return false;
    return loops.size() == 1 || loops[1].extent == depth;
}

} // namespace

result_t make_src_rows(const chain_t &src, data_type_t type, dim_t unit,
        isa_t isa, matmul_plan_t &plan) {
    chain_t chain = src;
    chain.set_type(type);
    dims_t strides = dense_strides(chain.shape());
    problem_t problem;
    plan.src_pitch = plan.depth;
    result_t result = chain.finish(strides, problem);
    if (!result.ok() || plan.depth == 0) return result;
    const operand_t &from = problem.src();
    if (from.type == type && problem.steps.empty() && from.offset == 0
            && unit == 1 && is_rows(problem, plan.depth)) {
        if (problem.loops.size() == 2) plan.src_pitch = from.strides[0];
        return {};
    }
    plan.src_pitch = round_up(plan.depth, std::max(panel, unit)) + src_pad;
    for (size_t d = 0; d + 1 < strides.size(); ++d)
        strides[d] = strides[d] / plan.depth * plan.src_pitch;
    result = chain.finish(strides, problem);
    return result.ok() ? choose_kernel(problem, isa, plan.src) : result;
}

} // namespace dnnl_dequant
