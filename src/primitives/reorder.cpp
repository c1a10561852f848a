#include "primitives/reorder.hpp"

#include <string>

#include "primitives/host.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api;
using upstream::api_t;

// Loops along which the scales vary, as oneDNN's mask over dimensions; -1
// where it cannot be said so.
int scales_mask(const operand_t &scales) {
    int mask = 0;
    for (size_t l = 0; l < scales.strides.size(); ++l) {
        if (scales.strides[l] == 0) continue;
        if (scales.strides[l] != 1 || mask != 0) return -1;
        mask = 1 << l;
    }
    return mask;
}

result_t check_problem(const problem_t &problem) {
    if (api().dnnl_reorder_primitive_desc_create == nullptr)
        return refuse("this oneDNN has no reorder primitive");
    const data_type_t src = problem.src().type;
    if (src != data_type_t::s8 && src != data_type_t::u8)
        return refuse("src is neither s8 nor u8");
    if (problem.dst().type != data_type_t::f32)
        return refuse("dst is not f32: oneDNN's results differ from ours");
    if (problem.steps.size() != 1
            || problem.steps[0].kind != step_kind_t::multiply)
        return refuse("there are steps other than one scale");
    const operand_t &scales
            = problem.operands[static_cast<size_t>(problem.steps[0].operand)];
    if (scales.type != data_type_t::f32 || scales_mask(scales) < 0)
        return refuse("scales are not f32, one or one a channel");
    if (problem.loops.size() > DNNL_MAX_NDIMS)
        return refuse("there are more loops than oneDNN has dimensions");
    for (const loop_t &loop : problem.loops)
        if (loop.parent >= 0) return refuse("a group is short");
    for (const operand_t &operand : problem.operands)
        if (operand.offset != 0) return refuse("an operand has an offset");
    return {};
}

desc_t make_desc(const problem_t &problem, const operand_t &operand) {
    dims_t dims, strides = operand.strides;
    for (const loop_t &loop : problem.loops)
        dims.push_back(loop.extent);
    if (dims.empty()) { // one element
        dims = {1};
        strides = {1};
    }
    return make_desc(operand.type, dims, strides);
}

bool is_jitted(const_dnnl_primitive_desc_t desc) {
    return implementation_of(desc).rfind("jit", 0) == 0;
}

result_t make_primitive(const_dnnl_memory_desc_t src,
        const_dnnl_memory_desc_t dst, int mask,
        std::shared_ptr<dnnl_primitive> &out) {
    if (host().stream == nullptr || src == nullptr || dst == nullptr)
        return refuse("oneDNN makes no engine or memory descriptor for it");
    scoped_attr_t attr;
    scoped_primitive_desc_t desc;
    if (upstream::call(&api_t::dnnl_primitive_attr_create, &attr.handle)
                    != dnnl_success
            || upstream::call(&api_t::dnnl_primitive_attr_set_scales_mask,
                       attr.handle, DNNL_ARG_SRC, mask)
                       != dnnl_success
            || upstream::call(&api_t::dnnl_reorder_primitive_desc_create,
                       &desc.handle, src, host().engine, dst, host().engine,
                       const_dnnl_primitive_attr_t(attr.handle))
                       != dnnl_success)
        return refuse("oneDNN has no implementation for it");
    if (!is_jitted(desc.handle))
        return refuse("oneDNN would run its reference code");
    out = create(desc.handle);
    return out ? result_t() : refuse("oneDNN could not create the primitive");
}

} // namespace

result_t make_reorder(
        const problem_t &problem, std::shared_ptr<const reorder_t> &out) {
    if (result_t result = check_problem(problem); !result.ok()) return result;

    const auto scales_index = static_cast<size_t>(problem.steps[0].operand);
    const operand_t &scales = problem.operands[scales_index];
    const int mask = scales_mask(scales);
    dim_t scales_count = 1;
    for (size_t l = 0; l < problem.loops.size(); ++l)
        if (mask >> l & 1) scales_count = problem.loops[l].extent;

    auto reorder = std::make_shared<reorder_t>();
    reorder->arguments_ = {
            {DNNL_ARG_FROM, 0, make_desc(problem, problem.src())},
            {DNNL_ARG_TO, problem.operands.size() - 1,
                    make_desc(problem, problem.dst())},
            {DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, scales_index,
                    make_desc(scales.type, {scales_count}, {1})},
    };
    const result_t result = make_primitive(reorder->arguments_[0].desc.get(),
            reorder->arguments_[1].desc.get(), mask, reorder->primitive_);
    if (!result.ok()) return result;
    reorder->engine_ = host().engine;
    out = std::move(reorder);
    return {};
}

status_t reorder_t::execute(void *const *buffers) const {
    scoped_memory_t memories[3];
    dnnl_exec_arg_t args[3];
    for (size_t i = 0; i < arguments_.size(); ++i) {
        const argument_t &argument = arguments_[i];
        const dnnl_status_t status = upstream::call(&api_t::dnnl_memory_create,
                &memories[i].handle,
                const_dnnl_memory_desc_t(argument.desc.get()), engine_,
                buffers[argument.operand]);
        if (status != dnnl_success) return static_cast<status_t>(status);
        args[i] = {argument.kind, memories[i].handle};
    }
    return static_cast<status_t>(
            execute_and_wait(primitive_.get(), arguments_.size(), args));
}

} // namespace dnnl_dequant
