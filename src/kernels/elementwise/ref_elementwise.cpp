// The steps as problem/problem.hpp says them, element by element, on any
// machine: the last candidate, and the tests' second opinion on the others.
// Kept plain; it is never made faster.

#include <algorithm>
#include <cmath>

#include "base/convert.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/elementwise/function.hpp"
#include "kernels/ref_nest.hpp"

namespace dnnl_dequant {

namespace {

// The difference of two 64-bit integers needs 65 bits.
__extension__ typedef __int128 wide_t;

// An integer stays one, exact, until the first step that computes.
struct value_t {
    bool is_exact = false;
    wide_t exact = 0;
    float rounded = 0;

    float f32() const { return is_exact ? static_cast<float>(exact) : rounded; }
    void set(float value) {
        is_exact = false;
        rounded = value;
    }
};

value_t load(const operand_t &operand, const void *buffer, dim_t element) {
    value_t value;
    value.is_exact = is_integer(operand.type);
    if (value.is_exact) value.exact = load_int(operand.type, buffer, element);
    else value.rounded = load_f32(operand.type, buffer, element);
    return value;
}

float difference(const value_t &a, const value_t &b) {
    if (a.is_exact && b.is_exact) return static_cast<float>(a.exact - b.exact);
    return a.f32() - b.f32();
}

float clamped(float value, float lower, float upper) {
    const float least = value > lower ? value : lower;
    return least < upper ? least : upper;
}

void saturate(value_t &value, float lower, float upper) {
    if (value.is_exact)
        value.exact
                = std::min(std::max(value.exact, static_cast<wide_t>(lower)),
                        static_cast<wide_t>(upper));
    else if (!std::isnan(value.rounded))
        value.rounded = std::min(std::max(value.rounded, lower), upper);
}

void store(const operand_t &dst, void *buffer, dim_t element,
        const value_t &value) {
    if (!is_integer(dst.type)) {
        store_f32(dst.type, buffer, element, value.f32());
        return;
    }
    const int_range_t range = range_of(dst.type);
    const wide_t exact
            = value.is_exact ? value.exact : nearest_int(value.rounded);
    store_int(dst.type, buffer, element,
            static_cast<int64_t>(std::min<wide_t>(
                    std::max<wide_t>(exact, range.lowest), range.highest)));
}

value_t rounded_to(data_type_t type, const value_t &value) {
    const operand_t as_dst {type, 0, {}};
    uint32_t stored = 0; // of 32 bits at most
    store(as_dst, &stored, 0, value);
    return load(as_dst, &stored, 0);
}

class ref_elementwise_t : public ref_nest_t {
public:
    explicit ref_elementwise_t(const problem_t &problem)
        : ref_nest_t(problem) {
        for (const step_t &step : problem.steps)
            functions_.push_back(make_function(step));
    }

    const char *name() const override { return "ref_elementwise"; }

private:
    void run_point(void *const *buffers, const elements_t &at) const override {
        const size_t d = problem_.operands.size() - 1;
        if (problem_.steps.empty()
                && problem_.src().type == problem_.dst().type) {
            copy_element(
                    problem_.dst().type, buffers[0], at[0], buffers[d], at[d]);
            return;
        }
        value_t value = load(problem_.src(), buffers[0], at[0]);
        value_t pushed;
        for (size_t s = 0; s < problem_.steps.size(); ++s) {
            const step_t &step = problem_.steps[s];
            if (step.kind == step_kind_t::function)
                value.set(evaluate(functions_[s], value.f32()));
            value_t operand;
            if (has_operand(step.kind)) {
                const auto o = static_cast<size_t>(step.operand);
                operand = load(problem_.operands[o], buffers[o], at[o]);
            }
            apply(step, operand, value, pushed);
        }
        store(problem_.dst(), buffers[d], at[d], value);
    }

    static void apply(const step_t &step, const value_t &operand,
            value_t &value, value_t &pushed) {
        switch (step.kind) {
        case step_kind_t::subtract:
            value.set(difference(value, operand));
            break;
        case step_kind_t::multiply:
            value.set(value.f32() * operand.f32());
            break;
        case step_kind_t::divide: value.set(value.f32() / operand.f32()); break;
        case step_kind_t::multiply_reciprocal:
            value.set(value.f32() * (1.f / operand.f32()));
            break;
        case step_kind_t::add: value.set(value.f32() + operand.f32()); break;
        case step_kind_t::clamp:
            value.set(clamped(value.f32(), step.lower, step.upper));
            break;
        case step_kind_t::saturate:
            saturate(value, step.lower, step.upper);
            break;
        case step_kind_t::offset:
            value.exact = nearest_int(value.f32()) + operand.exact;
            value.is_exact = true;
            break;
        case step_kind_t::nearest:
            value.set(std::nearbyint(value.f32()));
            break;
        case step_kind_t::round: value = rounded_to(step.type, value); break;
        case step_kind_t::push:
            pushed = value;
            value = operand;
            break;
        case step_kind_t::pop_add: value.set(pushed.f32() + value.f32()); break;
        case step_kind_t::dup: pushed = value; break;
        case step_kind_t::pop_multiply:
            value.set(pushed.f32() * value.f32());
            break;
        case step_kind_t::function: break; // has its program
        }
    }

    std::vector<program_t> functions_; // one a step
};

} // namespace

result_t make_ref_elementwise(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    (void)isa;
    result_t result = check_elementwise(problem);
    if (result.ok()) result = ref_nest_t::check(problem);
    if (!result.ok()) return result;
    kernel = std::make_shared<ref_elementwise_t>(problem);
    return {};
}

} // namespace dnnl_dequant
