// dst = round(f32(src - zps) * f32(scales)), element by element, on any
// machine: the last candidate, and the tests' second opinion on the others.
// Kept plain; it is never made faster.

#include <algorithm>
#include <array>

#include "base/convert.hpp"
#include "kernels/dequantize/dequantize.hpp"

namespace dnnl_dequant {

namespace {

// Two loops a dimension, twelve dimensions.
constexpr size_t max_loops = 24;
constexpr size_t max_operands = 4;
// Enough units for any machine's threads to share evenly.
constexpr dim_t wanted_units = 256;

// The difference of two 64-bit integers needs 65 bits.
__extension__ typedef __int128 wide_t;

// Where in the nest we are: the loops' indices and, for each operand, the
// element they lead to.
struct position_t {
    std::array<dim_t, max_loops> index {};
    std::array<dim_t, max_operands> element {};
};

class portable_dequantize_t : public kernel_t {
public:
    explicit portable_dequantize_t(const problem_t &problem)
        : problem_(problem) {
        for (const auto &step : problem_.steps)
            (step.kind == step_kind_t::subtract ? zps_ : scales_)
                    = step.operand;
        // A unit is a range of points of the outer loops.
        while (outer_loops_ < problem_.loops.size()
                && outer_points_ < wanted_units)
            outer_points_ *= problem_.loops[outer_loops_++].extent;
        units_ = std::min(outer_points_, wanted_units);
    }

    const char *name() const override { return "portable_dequantize"; }

    dim_t work_amount() const override { return units_; }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        if (begin >= end) return;
        const dim_t last = outer_points_ * end / units_;
        for (dim_t p = outer_points_ * begin / units_; p < last; ++p)
            run_outer_point(buffers, p);
    }

private:
    dim_t extent_of(size_t l, const position_t &at) const {
        const auto &loop = problem_.loops[l];
        if (loop.parent < 0) return loop.extent;
        const auto parent = static_cast<size_t>(loop.parent);
        const dim_t last = problem_.loops[parent].extent - 1;
        return at.index[parent] == last ? loop.last_extent : loop.extent;
    }

    void run_outer_point(void *const *buffers, dim_t point) const {
        position_t at;
        for (size_t l = outer_loops_; l-- > 0;) {
            at.index[l] = point % problem_.loops[l].extent;
            point /= problem_.loops[l].extent;
        }
        // The outer points are counted as if no group were short.
        for (size_t l = 0; l < outer_loops_; ++l)
            if (at.index[l] >= extent_of(l, at)) return;
        for (size_t o = 0; o < problem_.operands.size(); ++o) {
            const auto &operand = problem_.operands[o];
            at.element[o] = operand.offset;
            for (size_t l = 0; l < outer_loops_; ++l)
                at.element[o] += at.index[l] * operand.strides[l];
        }
        run_loop(buffers, outer_loops_, at);
    }

    // All points of loop `l` and those within it.
    void run_loop(
            void *const *buffers, size_t l, const position_t &from) const {
        if (l == problem_.loops.size()) {
            run_point(buffers, from);
            return;
        }
        position_t at = from;
        const dim_t extent = extent_of(l, at);
        for (at.index[l] = 0; at.index[l] < extent; ++at.index[l]) {
            run_loop(buffers, l + 1, at);
            for (size_t o = 0; o < problem_.operands.size(); ++o)
                at.element[o] += problem_.operands[o].strides[l];
        }
    }

    // src - zps, rounded once to f32.
    float difference(void *const *buffers, const position_t &at) const {
        const auto z = static_cast<size_t>(zps_);
        const data_type_t type = problem_.src().type;
        if (is_floating(type)) {
            const float x = load_f32(type, buffers[0], at.element[0]);
            if (zps_ < 0) return x;
            return x
                   - load_f32(problem_.operands[z].type, buffers[z],
                           at.element[z]);
        }
        wide_t exact = load_int(type, buffers[0], at.element[0]);
        if (zps_ >= 0)
            exact -= load_int(
                    problem_.operands[z].type, buffers[z], at.element[z]);
        return static_cast<float>(exact);
    }

    void run_point(void *const *buffers, const position_t &at) const {
        const auto s = static_cast<size_t>(scales_);
        const float scale = load_f32(
                problem_.operands[s].type, buffers[s], at.element[s]);
        const float value = difference(buffers, at) * scale;
        const size_t d = problem_.operands.size() - 1;
        store_f32(problem_.dst().type, buffers[d], at.element[d], value);
    }

    const problem_t problem_;
    int zps_ = -1;
    int scales_ = -1;
    size_t outer_loops_ = 0;
    dim_t outer_points_ = 1;
    dim_t units_ = 0;
};

result_t refuse(const std::string &why) {
    return {status_t::unimplemented, "portable_dequantize: " + why};
}

bool names_middle_operand(const problem_t &problem, const step_t &step) {
    return step.operand > 0
           && step.operand + 1 < static_cast<int>(problem.operands.size());
}

// [subtract zps of src's family,] multiply by a floating operand.
result_t check_steps(const problem_t &problem) {
    const auto &steps = problem.steps;
    const bool has_zps
            = !steps.empty() && steps.front().kind == step_kind_t::subtract;
    if (steps.size() != (has_zps ? 2u : 1u)
            || steps.back().kind != step_kind_t::multiply)
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
    if (has_zps && steps[0].operand == steps[1].operand)
        return refuse("two steps name the same operand");
    return {};
}

} // namespace

result_t make_portable_dequantize(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    (void)isa;
    if (problem.operands.size() < 3)
        return refuse("there is no operand between src and dst");
    if (problem.loops.size() > max_loops)
        return refuse(std::to_string(problem.loops.size())
                      + " loops, expected at most "
                      + std::to_string(max_loops));
    const result_t steps = check_steps(problem);
    if (!steps.ok()) return steps;
    if (!is_known(problem.src().type))
        return refuse(std::string(to_string(problem.src().type))
                      + " src, expected a data type of ours");
    if (!is_result_type(problem.dst().type))
        return refuse(std::string(to_string(problem.dst().type))
                      + " dst, expected f32, bf16 or f16");
    kernel = std::make_shared<portable_dequantize_t>(problem);
    return {};
}

} // namespace dnnl_dequant
