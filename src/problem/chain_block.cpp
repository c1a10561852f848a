// Blocks of a chain's value: what a kernel that works in blocks has of each.

#include "problem/chain.hpp"

#include <algorithm>

namespace dnnl_dequant {

dim_t chain_t::shortest_group(size_t d) const {
    dim_t shortest = 0;
    const auto add = [&shortest](dim_t group) {
        if (group > 1 && (shortest == 0 || group < shortest)) shortest = group;
    };
    std::vector<dim_t> constant(operands_.size(), 1); // of the inner axes
    for (size_t i = dims_[d].size(); i-- > 0;) {
        const axis_t &axis = dims_[d][i];
        for (size_t o = 0; o < operands_.size(); ++o) {
            const along_t &a = axis.along[o];
            if (constant[o] == 0) continue; // varies further in
            if (a.stride != 0) add(constant[o] * a.group);
            constant[o] = a.stride == 0 ? constant[o] * axis.extent : 0;
        }
    }
    return shortest;
}

bool chain_t::cuts_evenly(size_t d, dim_t size) const {
    const dim_axes_t &axes = dims_[d];
    dim_t inner = 1; // indices of the axes that are whole in a block
    for (size_t i = axes.size(); i-- > 0; inner *= axes[i].extent) {
        if (size % inner != 0) return false;
        const dim_t part = size / inner;
        if (part >= axes[i].extent) {
            if (part % axes[i].extent != 0) return false;
            continue;
        }
        if (i != 0 && axes[i].extent % part != 0) return false;
        return std::all_of(axes[i].along.begin(), axes[i].along.end(),
                [part](const along_t &a) {
            return a.stride == 0 || part % a.group == 0 || a.group % part == 0;
        });
    }
    return true;
}

chain_t chain_t::block(const dims_t &sizes) const {
    chain_t part = *this;
    part.shape_ = sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
        dim_axes_t &axes = part.dims_[d];
        dim_t left = sizes[d];
        for (size_t i = axes.size(); i-- > 0;) {
            axis_t &axis = axes[i];
            axis.extent = std::min(axis.extent, left);
            left /= std::max<dim_t>(axis.extent, 1);
            for (along_t &a : axis.along)
                if (a.group >= axis.extent) a = {};
        }
        axes.erase(std::remove_if(axes.begin(), axes.end(),
                           [](const axis_t &axis) { return axis.extent == 1; }),
                axes.end());
    }
    return part;
}

void chain_t::lay_first(const dims_t &strides) {
    for (size_t d = 0; d < dims_.size(); ++d) {
        dim_t stride = strides[d];
        for (size_t i = dims_[d].size(); i-- > 0;) {
            dims_[d][i].along[0] = {stride, 1};
            stride *= dims_[d][i].extent;
        }
    }
}

chain_t chain_t::after(size_t steps) const {
    chain_t part = *this;
    part.steps_.resize(steps);
    // A computed value is f32.
    part.type_ = steps == 0 ? operands_[0] : data_type_t::f32;
    if (steps > 0 && part.steps_.back().kind == step_kind_t::round)
        part.type_ = part.steps_.back().type;
    size_t operands = 1;
    for (const step_t &step : part.steps_)
        operands = std::max(operands, static_cast<size_t>(step.operand + 1));
    part.operands_.resize(operands);
    for (dim_axes_t &axes : part.dims_)
        for (axis_t &axis : axes)
            axis.along.resize(operands);
    return part;
}

chain_t chain_t::from(size_t steps) const {
    const chain_t first = after(steps);
    const auto gone = static_cast<std::ptrdiff_t>(first.operands_.size() - 1);
    const auto leave_out = [gone](auto &each) {
        each.erase(each.begin() + 1, each.begin() + 1 + gone);
    };
    chain_t rest = *this;
    leave_out(rest.operands_);
    rest.operands_[0] = first.type_;
    for (dim_axes_t &axes : rest.dims_)
        for (axis_t &axis : axes) {
            // A value of no elements has operands without places.
            if (!empty_) leave_out(axis.along);
            axis.along[0] = {};
        }
    rest.steps_.erase(rest.steps_.begin(),
            rest.steps_.begin() + static_cast<std::ptrdiff_t>(steps));
    for (step_t &step : rest.steps_)
        if (has_operand(step.kind)) step.operand -= static_cast<int>(gone);
    return rest;
}

void chain_t::place_dst(const dims_t &strides) {
    for (size_t d = 0; d < dims_.size(); ++d) {
        dim_t stride = strides[d];
        for (size_t i = dims_[d].size(); i-- > 0;) {
            dims_[d][i].along.push_back({stride, 1});
            // The outermost axis may have no extent that is a number.
            if (i > 0) stride *= dims_[d][i].extent;
        }
    }
    operands_.push_back(type_);
}

result_t chain_t::order_by_first(const dims_t &shape) {
    dim_axes_t all;
    for (const dim_axes_t &axes : dims_)
        all.insert(all.end(), axes.begin(), axes.end());
    std::stable_sort(
            all.begin(), all.end(), [](const axis_t &a, const axis_t &b) {
        return a.along[0].stride > b.along[0].stride;
    });
    dims_.clear();
    shape_.clear();
    for (const axis_t &axis : all) {
        dims_.push_back({axis});
        shape_.push_back(axis.extent);
    }
    return reshape(shape);
}

dim_t chain_t::offset_of(size_t operand, size_t d, dim_t index) const {
    // A value of no elements has operands without places.
    if (empty_) return 0;
    const dim_axes_t &axes = dims_[d];
    dim_t offset = 0;
    for (size_t i = axes.size(); i-- > 0;) {
        const along_t &a = axes[i].along[operand];
        const dim_t at = i == 0 ? index : index % axes[i].extent;
        offset += a.stride * (at / a.group);
        index /= axes[i].extent;
    }
    return offset;
}

} // namespace dnnl_dequant
