#include "problem/chain.hpp"

#include <algorithm>

#include "base/saturated.hpp"
#include "base/text.hpp"
#include "problem/make_problem.hpp"

namespace dnnl_dequant {

namespace {

std::string shape_text(const dims_t &dims) {
    std::string result;
    for (const dim_t dim : dims)
        result += (result.empty() ? "" : "x") + std::to_string(dim);
    return result.empty() ? "a scalar" : result;
}

// -1 for more than any integer holds. Dimensions of 0 come first.
dim_t product(const dims_t &dims) {
    if (std::count(dims.begin(), dims.end(), 0) != 0) return 0;
    dim_t result = 1;
    for (const dim_t dim : dims)
        if (__builtin_mul_overflow(result, dim, &result)) return -1;
    return result;
}

} // namespace

void chain_t::begin(
        data_type_t type, const dims_t &shape, const dims_t &strides) {
    *this = chain_t();
    known_ = true;
    type_ = type;
    shape_ = shape;
    empty_ = std::count(shape.begin(), shape.end(), 0) != 0;
    operands_ = {type};
    for (size_t d = 0; d < shape.size(); ++d) {
        dims_.emplace_back();
        if (shape[d] != 1)
            dims_.back().push_back({shape[d], {{strides[d], 1}}});
    }
}

void chain_t::begin_unknown(data_type_t type) {
    *this = chain_t();
    type_ = type;
    operands_ = {type};
}

void chain_t::set_type(data_type_t type) {
    const bool rounded = !steps_.empty()
                         && steps_.back().kind == step_kind_t::round
                         && steps_.back().type == type;
    // A computed value is f32 already.
    if (type != data_type_t::f32 && !rounded)
        steps_.push_back({step_kind_t::round, -1, type});
    type_ = type;
}

void chain_t::drop_roundings() {
    steps_.erase(std::remove_if(steps_.begin(), steps_.end(),
                         [](const step_t &step) {
        return step.kind == step_kind_t::round
               && (step.type == data_type_t::bf16
                       || step.type == data_type_t::f16);
    }),
            steps_.end());
}

void chain_t::quantize(data_type_t type) {
    steps_.push_back({step_kind_t::round, -1, type});
    type_ = type;
}

// Cuts an axis into outer iterations of `inner` indices each.
result_t chain_t::split(const axis_t &axis, dim_t inner, axis_t &outer_half,
        axis_t &inner_half) {
    outer_half = {axis.extent / inner, {}};
    inner_half = {inner, {}};
    for (const along_t &a : axis.along) {
        if (a.stride == 0) {
            outer_half.along.push_back({});
            inner_half.along.push_back({});
        } else if (a.group % inner == 0) {
            outer_half.along.push_back({a.stride, a.group / inner});
            inner_half.along.push_back({});
        } else if (inner % a.group == 0) {
            outer_half.along.push_back(
                    {saturated_product(a.stride, inner / a.group), 1});
            inner_half.along.push_back(a);
        } else {
            return refuse(text("a dimension of ", axis.extent, " cut every ",
                    inner, " would cut groups of ", a.group));
        }
    }
    return {};
}

// Makes axes[at] run `outer_extent` times, what is left becoming the next.
result_t chain_t::cut_to(dim_axes_t &axes, size_t at, dim_t outer_extent) {
    if (axes[at].extent == outer_extent) return {};
    axis_t outer_half, inner_half;
    if (result_t result = split(axes[at], axes[at].extent / outer_extent,
                outer_half, inner_half);
            !result.ok())
        return result;
    const auto next = static_cast<std::ptrdiff_t>(at + 1);
    axes[at] = outer_half;
    axes.insert(axes.begin() + next, inner_half);
    return {};
}

// Undoes split(): makes one axis of two neighbours, if every operand's places
// along them compose.
bool chain_t::join(const axis_t &outer, const axis_t &inner, axis_t &joined) {
    joined = {};
    if (__builtin_mul_overflow(outer.extent, inner.extent, &joined.extent))
        return false;
    for (size_t o = 0; o < outer.along.size(); ++o) {
        const along_t &a = outer.along[o], &b = inner.along[o];
        if (dim_t group = 1; b.stride == 0 && a.stride == 0)
            joined.along.push_back({});
        else if (b.stride == 0
                 && !__builtin_mul_overflow(a.group, inner.extent, &group))
            joined.along.push_back({a.stride, group});
        else if (dim_t stride = 0; a.group == 1 && inner.extent % b.group == 0
                                   && !__builtin_mul_overflow(b.stride,
                                           inner.extent / b.group, &stride)
                                   && a.stride == stride)
            joined.along.push_back(b);
        else return false;
    }
    return true;
}

// The axes of all dimensions, as few as there can be.
chain_t::dim_axes_t chain_t::joined_axes() const {
    dim_axes_t all;
    for (const dim_axes_t &axes : dims_)
        for (const axis_t &axis : axes) {
            axis_t joined;
            if (!all.empty() && join(all.back(), axis, joined))
                all.back() = joined;
            else all.push_back(axis);
        }
    return all;
}

// Cuts both rows of axes, of one product, until their extents are the same.
result_t chain_t::refine(dim_axes_t &a, dim_axes_t &b) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        const dim_t least = std::min(a[i].extent, b[i].extent);
        const dim_t most = std::max(a[i].extent, b[i].extent);
        if (most % least != 0)
            return refuse(text("dimensions of ", a[i].extent, " and ",
                    b[i].extent, " have no common cut"));
        result_t result = cut_to(a, i, least);
        if (result.ok()) result = cut_to(b, i, least);
        if (!result.ok()) return result;
    }
    return {};
}

// Gives one more operand its place along the axes of a dimension.
result_t chain_t::place(const along_t &along, dim_axes_t &axes) const {
    dim_t extent = 1;
    for (const axis_t &axis : axes)
        extent *= axis.extent;
    const bool varies = along.stride != 0 && along.group < extent;
    axis_t rest {extent, {varies ? along : along_t {}}};
    for (size_t i = 0; i < axes.size(); ++i) {
        axis_t outer_half = rest, inner_half {1, {{}}};
        const dim_t inner = rest.extent / axes[i].extent;
        if (inner > 1) {
            result_t result = split(rest, inner, outer_half, inner_half);
            if (!result.ok()) return result;
        }
        axes[i].along.push_back(outer_half.along[0]);
        rest = inner_half;
    }
    return {};
}

result_t chain_t::apply(step_kind_t kind, const view_t &view) {
    auto dims = dims_;
    for (size_t d = 0; known_ && !empty_ && d < dims.size(); ++d)
        if (result_t result = place(view.along[d], dims[d]); !result.ok())
            return result;
    dims_ = std::move(dims);
    steps_.push_back({kind, static_cast<int>(operands_.size())});
    operands_.push_back(view.type);
    return {};
}

void chain_t::clamp(float lower, float upper) {
    steps_.push_back(
            {step_kind_t::clamp, -1, data_type_t::undef, lower, upper});
}

void chain_t::saturate(float lower, float upper) {
    steps_.push_back(
            {step_kind_t::saturate, -1, data_type_t::undef, lower, upper});
}

void chain_t::apply(function_t function, float alpha, float beta) {
    step_t step {step_kind_t::function};
    step.function = function;
    step.alpha = alpha;
    step.beta = beta;
    steps_.push_back(step);
}

void chain_t::dup() {
    steps_.push_back({step_kind_t::dup});
}

void chain_t::pop_multiply() {
    steps_.push_back({step_kind_t::pop_multiply});
}

void chain_t::nearest() {
    steps_.push_back({step_kind_t::nearest});
}

bool chain_t::has_pushed() const {
    return std::any_of(steps_.begin(), steps_.end(), [](const step_t &step) {
        return step.kind == step_kind_t::push || step.kind == step_kind_t::dup;
    });
}

result_t chain_t::add(const chain_t &other) {
    if (!known_ || !other.known_)
        return refuse("two values of shapes that are not known yet");
    if (shape_ != other.shape_)
        return refuse(text("values of different shapes, ", shape_text(shape_),
                " and ", shape_text(other.shape_)));
    auto dims = dims_, others = other.dims_;
    for (size_t d = 0; !empty_ && d < dims.size(); ++d) {
        if (result_t result = refine(dims[d], others[d]); !result.ok())
            return result;
        for (size_t i = 0; i < dims[d].size(); ++i) {
            auto &along = dims[d][i].along;
            const auto &more = others[d][i].along;
            along.insert(along.end(), more.begin(), more.end());
        }
    }
    dims_ = std::move(dims);
    const int offset = static_cast<int>(operands_.size());
    steps_.push_back({step_kind_t::push, offset});
    for (step_t step : other.steps_) {
        if (has_operand(step.kind)) step.operand += offset;
        steps_.push_back(step);
    }
    steps_.push_back({step_kind_t::pop_add});
    operands_.insert(
            operands_.end(), other.operands_.begin(), other.operands_.end());
    return {};
}

void chain_t::transpose(const std::vector<size_t> &order) {
    if (!known_) return;
    const auto dims = dims_;
    const auto shape = shape_;
    for (size_t d = 0; d < order.size(); ++d) {
        dims_[d] = dims[order[d]];
        shape_[d] = shape[order[d]];
    }
}

result_t chain_t::reshape(const dims_t &shape) {
    if (!known_) return refuse("a reshape of a shape that is not known yet");
    const dim_t elements = product(shape);
    if (elements != product(shape_))
        return {status_t::invalid_shape,
                text("a reshape from ", shape_text(shape_), " to ",
                        shape_text(shape), "; expected as many elements")};
    if (elements < 0)
        return {status_t::invalid_shape,
                text("a reshape from ", shape_text(shape_), " to ",
                        shape_text(shape), ": too large to address")};
    // Cuts that need not be here might be in the way of others.
    dim_axes_t all = joined_axes();
    std::vector<dim_axes_t> dims;
    size_t at = 0;
    for (const dim_t extent : shape) {
        dims.emplace_back();
        for (dim_t left = extent; !empty_ && left > 1; ++at) {
            const dim_t most = std::max(left, all[at].extent);
            const dim_t least = std::min(left, all[at].extent);
            if (most % least != 0)
                return refuse(text("a reshape from ", shape_text(shape_),
                        " to ", shape_text(shape),
                        ", which have no common cut"));
            if (result_t result = cut_to(all, at, least); !result.ok())
                return result;
            dims.back().push_back(all[at]);
            left /= least;
        }
    }
    dims_ = std::move(dims);
    shape_ = shape;
    return {};
}

dims_t chain_t::preferred_order() const {
    dims_t order;
    for (const dim_axes_t &axes : dims_)
        order.push_back(axes.empty() ? 0 : axes.back().along[0].stride);
    return order;
}

// The axes of the whole space, cut so that groups which divide their axis
// become axes of their own.
std::vector<chain_t::axis_t> chain_t::even_axes() const {
    std::vector<axis_t> result;
    for (dim_axes_t axes : dims_) {
        for (size_t i = 0; i < axes.size(); ++i) {
            dim_t group = 1; // the largest that can be cut off
            for (const along_t &a : axes[i].along)
                if (a.stride != 0 && a.group > group
                        && axes[i].extent % a.group == 0)
                    group = a.group;
            axis_t outer_half, inner_half;
            if (group > 1
                    && split(axes[i], group, outer_half, inner_half).ok()) {
                axes[i] = outer_half;
                axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        inner_half);
            }
        }
        result.insert(result.end(), axes.begin(), axes.end());
    }
    return result;
}

result_t chain_t::finish(const dims_t &dst_strides, problem_t &problem) const {
    chain_t placed = *this;
    placed.place_dst(dst_strides);
    return placed.finish(problem);
}

result_t chain_t::view_operands(dims_t &extents, dims_t &groups,
        std::vector<tensor_view_t> &views) const {
    const auto axes = even_axes();
    for (const axis_t &axis : axes) {
        dim_t group = 1;
        for (const along_t &a : axis.along) {
            if (a.stride == 0 || a.group == 1) continue;
            if (group != 1 && group != a.group)
                return refuse(text("groups of ", group, " and of ", a.group,
                        " along one dimension of ", axis.extent));
            group = a.group;
        }
        extents.push_back(axis.extent);
        groups.push_back(group);
        for (size_t o = 0; o < views.size(); ++o) {
            views[o].strides.push_back(axis.along[o].stride);
            views[o].grouped
                    |= axis.along[o].stride != 0 && axis.along[o].group > 1;
        }
    }
    // A grouped view is taken to be grouped wherever there are groups.
    for (size_t d = 0; d < axes.size(); ++d)
        for (size_t o = 0; o < views.size(); ++o) {
            const along_t &a = axes[d].along[o];
            if (views[o].grouped && groups[d] != 1 && a.stride != 0
                    && a.group == 1)
                return refuse("short last groups of two operands along "
                              "different dimensions");
        }
    return {};
}

result_t chain_t::finish(problem_t &problem) const {
    std::vector<tensor_view_t> views;
    for (const data_type_t type : operands_)
        views.push_back({type, {}, false});
    dims_t extents, groups;
    if (empty_) {
        extents = groups = {0};
        for (tensor_view_t &view : views)
            view.strides = {0};
    } else if (result_t seen = view_operands(extents, groups, views);
            !seen.ok()) {
        return seen;
    }
    auto steps = steps_;
    // Storing rounds to dst's type by itself.
    if (!steps.empty() && steps.back().kind == step_kind_t::round
            && steps.back().type == type_)
        steps.pop_back();
    problem = make_problem(extents, groups, views, steps);
    if (problem.loops.size() > max_loops)
        return refuse(text("a nest of ", problem.loops.size(),
                " loops; expected at most ", max_loops));
    return {};
}

} // namespace dnnl_dequant
