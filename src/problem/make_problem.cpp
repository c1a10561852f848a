#include "problem/make_problem.hpp"

#include <algorithm>

#include "base/saturated.hpp"

namespace dnnl_dequant {

namespace {

// A loop and every operand's stride along it, before the order is known.
// Loops are told apart by `id`, which is their place in no vector.
struct draft_loop_t {
    int id = 0;
    dim_t extent = 1;
    int parent_id = -1;
    dim_t last_extent = 0;
    bool is_parent = false;
    dims_t strides;
};

using draft_t = std::vector<draft_loop_t>;

bool groups_matter(const std::vector<tensor_view_t> &views, size_t d) {
    return std::any_of(views.begin(), views.end(),
            [d](const tensor_view_t &v) { return v.grouped && v.strides[d]; });
}

// A dimension that no grouped tensor distinguishes within, or whose every
// index is a group of its own: one loop.
void add_whole(draft_t &draft, dim_t extent, size_t d,
        const std::vector<tensor_view_t> &views, bool varies) {
    if (extent == 1) return;
    draft_loop_t loop;
    loop.id = static_cast<int>(draft.size());
    loop.extent = extent;
    for (const auto &view : views)
        loop.strides.push_back(view.grouped && !varies ? 0 : view.strides[d]);
    draft.push_back(std::move(loop));
}

// A dimension cut into groups: a loop over the groups and one within.
void add_split(draft_t &draft, dim_t extent, dim_t group, size_t d,
        const std::vector<tensor_view_t> &views) {
    draft_loop_t outer, inner;
    outer.id = static_cast<int>(draft.size());
    outer.extent = div_up(extent, group);
    inner.id = outer.id + 1;
    inner.extent = group;
    const dim_t rest = extent - (outer.extent - 1) * group;
    if (rest != group) {
        outer.is_parent = true;
        inner.parent_id = outer.id;
        inner.last_extent = rest;
    }
    for (const auto &view : views) {
        const dim_t stride = view.strides[d];
        outer.strides.push_back(
                view.grouped ? stride : saturated_product(stride, group));
        inner.strides.push_back(view.grouped ? 0 : stride);
    }
    draft.push_back(std::move(outer));
    draft.push_back(std::move(inner));
}

bool composes(const draft_loop_t &outer, const draft_loop_t &inner) {
    // Merging a parent would lose which iteration is its last; merging a
    // child into what is outside it would lose that its extent changes. A
    // child may absorb what is inside it: both its extents multiply.
    if (outer.is_parent || inner.is_parent || inner.parent_id >= 0)
        return false;
    // Sizes that no memory has are looked at too, before they are refused.
    dim_t extent = 0, stride = 0;
    if (__builtin_mul_overflow(outer.extent, inner.extent, &extent))
        return false;
    for (size_t o = 0; o < outer.strides.size(); ++o)
        if (__builtin_mul_overflow(inner.strides[o], inner.extent, &stride)
                || outer.strides[o] != stride)
            return false;
    return true;
}

draft_t merged(const draft_t &ordered) {
    draft_t result;
    for (const auto &loop : ordered) {
        if (!result.empty() && composes(result.back(), loop)) {
            auto &into = result.back();
            into.extent *= loop.extent;
            into.last_extent *= loop.extent;
            into.strides = loop.strides;
        } else {
            result.push_back(loop);
        }
    }
    return result;
}

draft_t draft_of(const dims_t &dims, const dims_t &groups,
        const std::vector<tensor_view_t> &views) {
    draft_t draft;
    for (size_t d = 0; d < dims.size(); ++d) {
        if (!groups_matter(views, d) || groups[d] >= dims[d])
            add_whole(draft, dims[d], d, views, false);
        else if (groups[d] == 1) add_whole(draft, dims[d], d, views, true);
        else add_split(draft, dims[d], groups[d], d, views);
    }
    return draft;
}

int position_of(const draft_t &draft, int id) {
    for (size_t l = 0; l < draft.size(); ++l)
        if (draft[l].id == id) return static_cast<int>(l);
    return -1;
}

void append_loops(problem_t &problem, const draft_t &draft) {
    for (const auto &loop : draft) {
        problem.loops.push_back({loop.extent,
                position_of(draft, loop.parent_id), loop.last_extent});
        for (size_t o = 0; o < problem.operands.size(); ++o)
            problem.operands[o].strides.push_back(loop.strides[o]);
    }
}

} // namespace

problem_t make_problem(const dims_t &dims, const dims_t &groups,
        const std::vector<tensor_view_t> &views,
        const std::vector<step_t> &steps, int ordered_by) {
    problem_t problem;
    problem.steps = steps;
    for (const auto &view : views)
        problem.operands.push_back({view.type, 0, {}});

    if (std::count(dims.begin(), dims.end(), 0) != 0) {
        // Nothing to do is one problem, whatever the other dimensions.
        draft_loop_t nothing;
        nothing.extent = 0;
        nothing.strides.assign(views.size(), 0);
        append_loops(problem, {nothing});
        return problem;
    }

    draft_t draft = draft_of(dims, groups, views);
    // A parent's stride of dst is a multiple of its child's, so that it ends
    // up further out.
    const size_t by = ordered_by < 0 ? views.size() - 1
                                     : static_cast<size_t>(ordered_by);
    std::stable_sort(draft.begin(), draft.end(),
            [by](const draft_loop_t &a, const draft_loop_t &b) {
        return a.strides[by] > b.strides[by];
    });
    append_loops(problem, merged(draft));
    return problem;
}

problem_t make_plain_problem(const dims_t &extents,
        const std::vector<operand_t> &operands,
        const std::vector<step_t> &steps) {
    std::vector<tensor_view_t> views;
    for (const operand_t &o : operands)
        views.push_back({o.type, o.strides});
    problem_t problem = make_problem(extents, extents, views, steps);
    for (size_t o = 0; o < operands.size(); ++o)
        problem.operands[o].offset = operands[o].offset;
    return problem;
}

} // namespace dnnl_dequant
