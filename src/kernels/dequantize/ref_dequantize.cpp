// dst = round(f32(src - zps) * f32(scales)), element by element, on any
// machine: the last candidate, and the tests' second opinion on the others. It
// is kept plain and is never made faster.

#include "base/convert.hpp"
#include "kernels/dequantize/dequantize.hpp"
#include "kernels/ref_nest.hpp"

namespace dnnl_dequant {

namespace {

// The difference of two 64-bit integers needs 65 bits.
__extension__ typedef __int128 wide_t;

class ref_dequantize_t : public ref_nest_t {
public:
    explicit ref_dequantize_t(const problem_t &problem)
        : ref_nest_t(problem) {
        for (const auto &step : problem_.steps)
            (step.kind == step_kind_t::subtract ? zps_ : scales_)
                    = step.operand;
    }

    const char *name() const override { return "ref_dequantize"; }

private:
    // src - zps, rounded once to f32.
    float difference(void *const *buffers, const elements_t &at) const {
        const auto z = static_cast<size_t>(zps_);
        const data_type_t type = problem_.src().type;
        if (is_floating(type)) {
            const float x = load_f32(type, buffers[0], at[0]);
            if (zps_ < 0) return x;
            return x - load_f32(problem_.operands[z].type, buffers[z], at[z]);
        }
        wide_t exact = load_int(type, buffers[0], at[0]);
        if (zps_ >= 0)
            exact -= load_int(problem_.operands[z].type, buffers[z], at[z]);
        return static_cast<float>(exact);
    }

    void run_point(void *const *buffers, const elements_t &at) const override {
        const auto s = static_cast<size_t>(scales_);
        const float scale
                = load_f32(problem_.operands[s].type, buffers[s], at[s]);
        const float value = difference(buffers, at) * scale;
        const size_t d = problem_.operands.size() - 1;
        store_f32(problem_.dst().type, buffers[d], at[d], value);
    }

    int zps_ = -1;
    int scales_ = -1;
};

bool names_middle_operand(const problem_t &problem, const step_t &step) {
    return step.operand > 0
           && step.operand + 1 < static_cast<int>(problem.operands.size());
}

// [subtract zps of src's family,] multiply by a floating operand.
result_t check_steps(const problem_t &problem) {
    const auto &steps = problem.steps;
    if (!is_dequantize(steps))
        return refuse("the steps are not [subtract,] multiply");
    if (problem.operands.size() != steps.size() + 2)
        return refuse("there are operands that no step uses");
    for (const auto &step : steps) {
        if (!names_middle_operand(problem, step))
            return refuse("a step names no operand between src and dst");
        const data_type_t type
                = problem.operands[static_cast<size_t>(step.operand)].type;
        if (step.kind == step_kind_t::multiply && !is_floating(type))
            return refuse(std::string(to_string(type))
                          + " scales, expected a floating type");
        if (step.kind == step_kind_t::subtract
                && is_floating(type) != is_floating(problem.src().type))
            return refuse(std::string(to_string(type)) + " zps for "
                          + to_string(problem.src().type)
                          + " src, expected both integer or both floating");
    }
    if (steps.size() > 1 && steps[0].operand == steps[1].operand)
        return refuse("two steps name the same operand");
    return {};
}

} // namespace

result_t make_ref_dequantize(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    (void)isa;
    if (problem.operands.size() < 3)
        return refuse("there is no operand between src and dst");
    if (result_t nest = ref_nest_t::check(problem); !nest.ok())
        return refuse(nest.reason);
    const result_t steps = check_steps(problem);
    if (!steps.ok()) return steps;
    if (!is_known(problem.src().type))
        return refuse(std::string(to_string(problem.src().type))
                      + " src, expected a data type of ours");
    if (!is_result_type(problem.dst().type))
        return refuse(std::string(to_string(problem.dst().type))
                      + " dst, expected f32, bf16 or f16");
    kernel = std::make_shared<ref_dequantize_t>(problem);
    return {};
}

} // namespace dnnl_dequant
