#include "lower/planes.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "graph/logical_tensor.hpp"
#include "kernels/short_rows/planes.hpp"

namespace dnnl_dequant {

namespace {

// With fewer points a block is little but overhead. Kernels of blocks join no
// rows of so many points.
constexpr dim_t least_points = 129, least_copied_points = 32;

class planner_t {
public:
    explicit planner_t(const problem_t &problem)
        : problem_(problem) {}

    // Finds the loops of planes and of points. The innermost loop is one of
    // them, and each of both may be so many that it looks like the other.
    bool find_loops() {
        const size_t last = problem_.loops.size() - 1;
        const operand_t &src = problem_.src(), &dst = problem_.dst();
        for (size_t l = 0; l < last; ++l) {
            if (are_planes_and_points(last, l) && interleave(src, dst, last, l))
                interleaves_ = true;
            else if (!are_planes_and_points(l, last)
                     || !interleave(dst, src, l, last))
                continue;
            plane_ = interleaves_ ? last : l;
            point_ = interleaves_ ? l : last;
            return true;
        }
        return false;
    }

    result_t make(isa_t isa, std::shared_ptr<const kernel_t> &kernel) const {
        points_and_planes_t plan;
        plan.operands = problem_.operands.size();
        plan.stacked = interleaves_ ? plan.operands - 1 : 0;
        const operand_t &stacked = problem_.operands[plan.stacked];
        const dim_t bits = bits_of(stacked.type);
        // Two units may not share a byte of dst.
        if (bits % 8 != 0 || bits > 32 || bits_of(problem_.dst().type) < 8)
            return refuse("");
        plan.planes = {static_cast<int>(extent(plane_)),
                static_cast<int>(bits / 8), interleaves_};
        plan.points = extent(point_);
        const dim_t line_points = 64;
        const dim_t most_bytes = is_copy() ? points_and_planes_t::most_copied
                                           : points_and_planes_t::most_bytes;
        plan.block
                = std::min(plan.points, most_bytes * 8 / bits / extent(plane_)
                                                / line_points * line_points);
        plan.point_bytes = plan.block * extent(plane_) * bits / 8;
        plan.first_byte = stacked.offset * bits / 8;
        for (size_t l = 0; l < problem_.loops.size(); ++l)
            if (is_outer(l)) {
                if (!is_plain(problem_, l)) return refuse("");
                plan.outer.push_back(extent(l));
            }
        for (size_t o = 0; o < plan.operands; ++o)
            if (!add_strides(o, plan))
                return refuse(text("operand ", o, " of type ",
                        to_string(problem_.operands[o].type), " has strides ",
                        dims_string(problem_.operands[o].strides),
                        " in blocks of ", plan.block,
                        " points; expected whole bytes"));
        result_t result = make_interleave(plan.planes, isa, plan.interleave);
        if (result.ok())
            result = is_copy() ? place_planes(plan) : make_kernels(plan, isa);
        if (result.ok()) kernel = make_points_and_planes(std::move(plan));
        return result;
    }

private:
    result_t make_kernels(points_and_planes_t &plan, isa_t isa) const {
        const result_t result = choose_kernel(
                block_problem(plan, plan.block), isa, plan.whole);
        const dim_t rest = plan.points % plan.block;
        return result.ok() && rest > 0
                       ? choose_kernel(
                                 block_problem(plan, rest), isa, plan.rest)
                       : result;
    }
    result_t place_planes(points_and_planes_t &plan) const {
        const operand_t &planes = problem_.operands[1 - plan.stacked];
        const dim_t bits = bits_of(planes.type);
        plan.first_plane_byte = planes.offset * bits / 8;
        plan.plane_bytes = planes.strides[plane_] * bits / 8;
        const bool are_short
                = plan.block == plan.points
                  && plan.point_bytes <= points_and_planes_t::short_row_bytes;
        if (plan.outer.empty() || !are_short) return {};
        plan.rows
                = {plan.outer.back(), plan.outer_bytes[1 - plan.stacked].back(),
                        plan.outer_bytes[plan.stacked].back()};
        plan.outer.pop_back();
        return {};
    }
    bool is_copy() const {
        return problem_.steps.empty()
               && problem_.src().type == problem_.dst().type;
    }
    dim_t extent(size_t l) const { return problem_.loops[l].extent; }
    bool is_outer(size_t l) const { return l != plane_ && l != point_; }
    bool are_planes_and_points(size_t plane, size_t point) const {
        return extent(plane) <= planes_t::most_planes
               && extent(point)
                          >= (is_copy() ? least_copied_points : least_points)
               && is_plain(problem_, plane) && is_plain(problem_, point);
    }
    // Planes of dense points in one operand are side by side in the other one.
    bool interleave(const operand_t &planes, const operand_t &points,
            size_t plane, size_t point) const {
        return planes.strides[point] == 1
               && planes.strides[plane] >= extent(point)
               && points.strides[plane] == 1
               && points.strides[point] == extent(plane);
    }
    // Strides in bytes; false if a block or an outer iteration would begin
    // within one.
    bool add_strides(size_t o, points_and_planes_t &plan) const {
        const operand_t &operand = problem_.operands[o];
        const dim_t bits = bits_of(operand.type);
        bool in_bytes = true;
        const auto bytes = [&](dim_t elements) {
            in_bytes = in_bytes && elements * bits % 8 == 0;
            return elements * bits / 8;
        };
        plan.outer_bytes.emplace_back();
        for (size_t l = 0; l < problem_.loops.size(); ++l)
            if (is_outer(l))
                plan.outer_bytes.back().push_back(bytes(operand.strides[l]));
        const bool has_blocks = o != plan.stacked && plan.block < plan.points;
        plan.block_bytes.push_back(
                has_blocks ? bytes(plan.block * operand.strides[point_]) : 0);
        return in_bytes;
    }

    // Planes by points; the stacked operand has whole blocks of planes.
    problem_t block_problem(
            const points_and_planes_t &plan, dim_t points) const {
        problem_t block;
        block.steps = problem_.steps;
        block.loops = {{extent(plane_)}, {points}};
        for (const operand_t &o : problem_.operands)
            block.operands.push_back(
                    {o.type, o.offset, {o.strides[plane_], o.strides[point_]}});
        block.operands[plan.stacked].offset = 0;
        block.operands[plan.stacked].strides = {plan.block, 1};
        // No loop has an extent of 1.
        if (points == 1) {
            block.loops.pop_back();
            for (operand_t &o : block.operands)
                o.strides.pop_back();
        }
        // A dst in memory is all of it, for those who choose by its size.
        if (!interleaves_) {
            block.parts = problem_.parts * div_up(plan.points, plan.block);
            for (const dim_t outer : plan.outer)
                block.parts *= outer;
        }
        return block;
    }

    const problem_t &problem_;
    size_t plane_ = 0, point_ = 0; // loops
    bool interleaves_ = false;
};

} // namespace

result_t make_planes(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    if (problem.loops.size() < 2) return refuse("");
    planner_t planner(problem);
    return planner.find_loops() ? planner.make(isa, kernel) : refuse("");
}

} // namespace dnnl_dequant
