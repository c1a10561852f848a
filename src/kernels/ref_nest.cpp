#include "kernels/ref_nest.hpp"

#include <algorithm>
#include <string>

namespace dnnl_dequant {

namespace {

// Enough units for any machine's threads to share evenly.
constexpr dim_t wanted_units = 256;

} // namespace

ref_nest_t::ref_nest_t(const problem_t &problem)
    : problem_(problem) {
    // Elements that share a byte of dst are written by one thread.
    const dim_t wanted = bits_of(problem.dst().type) < 8 ? 1 : wanted_units;
    // A unit is a range of points of the outer loops.
    while (outer_loops_ < problem_.loops.size() && outer_points_ < wanted)
        outer_points_ *= problem_.loops[outer_loops_++].extent;
    units_ = std::min(outer_points_, wanted);
}

result_t ref_nest_t::check(const problem_t &problem) {
    if (problem.loops.size() > max_loops)
        return {status_t::unimplemented, std::to_string(problem.loops.size())
                                                 + " loops, expected at most "
                                                 + std::to_string(max_loops)};
    if (problem.operands.size() > max_operands)
        return {status_t::unimplemented,
                std::to_string(problem.operands.size())
                        + " operands, expected at most "
                        + std::to_string(max_operands)};
    return {};
}

void ref_nest_t::run(
        void *const *buffers, dim_t begin, dim_t end) const noexcept {
    if (begin >= end) return;
    const dim_t last = outer_points_ * end / units_;
    for (dim_t p = outer_points_ * begin / units_; p < last; ++p)
        run_outer_point(buffers, p);
}

dim_t ref_nest_t::extent_of(size_t l, const position_t &at) const {
    const auto &loop = problem_.loops[l];
    if (loop.parent < 0) return loop.extent;
    const auto parent = static_cast<size_t>(loop.parent);
    const dim_t last = problem_.loops[parent].extent - 1;
    return at.index[parent] == last ? loop.last_extent : loop.extent;
}

void ref_nest_t::run_outer_point(void *const *buffers, dim_t point) const {
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

// Runs all points of loop `l` and those within it.
void ref_nest_t::run_loop(
        void *const *buffers, size_t l, const position_t &from) const {
    if (l == problem_.loops.size()) {
        run_point(buffers, from.element);
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

} // namespace dnnl_dequant
