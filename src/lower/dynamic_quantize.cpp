// y, y_scale[, y_zero_point] = DynamicQuantizeLinear(x): a pass that finds the
// ranges of x, and one that quantizes by what they give.

#include "lower/dynamic_quantize.hpp"

#include <algorithm>

#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "kernels/quantize/dynamic_quantize.hpp"
#include "kernels/quantize/jit_dynamic_rows.hpp"
#include "lower/ports.hpp"
#include "patterns/patterns.hpp"
#include "problem/make_problem.hpp"

namespace dnnl_dequant {

namespace {

// L2 holds this much of src next to dst.
constexpr dim_t slab_bytes_of_src = 128 * 1024;
// Fewer slabs would leave threads without work.
constexpr dim_t fewest_slabs = 16;

class lowering_t {
public:
    lowering_t(const partition_t &partition, isa_t isa, lowered_t &lowered)
        : partition_(partition)
        , op_(partition.ops.front())
        , isa_(isa)
        , lowered_(lowered) {}

    result_t run() {
        op_.inputs[0] = lowered_.inputs[0];
        if (result_t result = verify(op_); !result.ok()) return result;
        granularity_ = granularity_of(op_);
        dims_ = dims_of(op_.inputs[0]);
        groups_ = group_sizes(granularity_, dims_);
        if (result_t result = infer_outputs(); !result.ok()) return result;
        init_grid();
        if (lower_rows()) return {};

        dynamic_quantize_t::part_t whole, rest;
        if (result_t result = make_part(dims_, whole); !result.ok())
            return result;
        lowered_.problem = problem_;
        lowered_.operands = sources_;
        dim_t slabs = 1;
        std::vector<dim_t> steps;
        if (const size_t at = slab_dimension(); at < dims_.size()) {
            const dim_t size = slab_size(at);
            slabs = div_up(dims_[at], size);
            dims_t part = dims_;
            part[at] = size;
            parts_ = slabs;
            result_t result = make_part(part, whole);
            part[at] = dims_[at] % size;
            if (result.ok() && part[at] != 0) result = make_part(part, rest);
            if (!result.ok()) return result;
            steps = slab_steps(at, size);
        }
        const auto kernel = std::make_shared<const dynamic_quantize_t>(
                std::move(whole), std::move(rest), slabs, std::move(steps));
        lowered_.implementation = {kernel->name(),
                make_workload(kernel, bytes_to_move(lowered_.problem)), true,
                nullptr};
        return {};
    }

private:
    bool has_zps() const { return op_.outputs.size() > 2; }

    // True if a kernel takes all of x as rows, each of them a group.
    bool lower_rows() {
        const dim_t elements = element_count(op_.inputs[0]);
        if (!groups_are_rows() || elements == 0) return false;
        if (!make_quantize(dims_).ok()) return false;
        dim_t cols = 1;
        for (const dim_t size : groups_)
            cols *= size;
        std::shared_ptr<const kernel_t> kernel;
        const dynamic_rows_t rows {type_of(op_.inputs[0]),
                type_of(op_.outputs[0]), has_zps(), elements / cols, cols};
        if (!make_jit_dynamic_rows(rows, isa_, kernel).ok()) return false;
        lowered_.problem = problem_;
        lowered_.operands = sources_;
        const dim_t bytes = bytes_to_move(lowered_.problem);
        lowered_.implementation = {kernel->name(),
                {{}, {make_stage(kernel, bytes)}}, true, nullptr};
        return true;
    }

    // True if x is dense, each of its groups is a stretch of it, and y and the
    // parameters are in its order, without gaps.
    bool groups_are_rows() const {
        dim_t elements = 1, grid = 1;
        bool is_cut = false;
        for (size_t d = dims_.size(); d-- > 0;) {
            const dim_t size = groups_[d], groups = dims_[d] / size;
            if (dims_[d] == 1) continue;
            if (dims_[d] != groups * size || (is_cut && size > 1)) return false;
            if (strides_of(op_.inputs[0])[d] != elements
                    || strides_of(op_.outputs[0])[d] != elements)
                return false;
            if (groups > 1
                    && (parameters_.scale_strides[d] != grid
                            || (has_zps()
                                    && parameters_.zps_strides[d] != grid)))
                return false;
            is_cut = is_cut || groups > 1;
            elements *= dims_[d];
            grid *= groups;
        }
        return true;
    }

    size_t channel_dimension() const {
        const auto rank = static_cast<dim_t>(dims_.size());
        const dim_t axis = granularity_.axis;
        return static_cast<size_t>(axis < 0 ? axis + rank : axis);
    }

    result_t infer_outputs() {
        const dims_t like_x
                = dense_strides_like(dims_, strides_of(op_.inputs[0]));
        for (size_t o = 0; o < op_.outputs.size(); ++o) {
            logical_tensor_t &output = lowered_.outputs[o];
            dims_t dims
                    = o == 0 ? dims_ : found_scales_dims(granularity_, dims_);
            // One element is as good in any number of dimensions.
            if (o > 0 && dims.empty() && has_shape(output)
                    && element_count(output) == 1)
                dims = dims_of(output);
            if (result_t result = infer_output(partition_, dims,
                        o == 0 ? like_x : dense_strides(dims), output);
                    !result.ok())
                return result;
            op_.outputs[o] = output;
        }
        return {};
    }

    // Strides of an output of parameters over x's dimensions.
    dims_t grid_strides(const logical_tensor_t &tensor) const {
        dims_t strides(dims_.size(), 0);
        const dims_t own = strides_of(tensor);
        if (granularity_.qtype == qtype_t::per_group) return own;
        if (granularity_.qtype == qtype_t::per_channel)
            strides[channel_dimension()] = own[0];
        return strides;
    }

    void init_grid() {
        parameters_.type = type_of(op_.outputs[0]);
        parameters_.has_zps = has_zps();
        parameters_.scale_strides = grid_strides(op_.outputs[1]);
        if (has_zps()) parameters_.zps_strides = grid_strides(op_.outputs[2]);
    }

    // Both passes over an x of the given dimensions, laid out as x is.
    result_t make_part(const dims_t &dims, dynamic_quantize_t::part_t &part) {
        part.parameters = parameters_;
        for (size_t d = 0; d < dims.size(); ++d)
            part.parameters.grid.push_back(
                    std::max<dim_t>(div_up(dims[d], groups_[d]),
                            dims[d] == 0 && whole_group(d) ? 1 : 0));
        if (result_t result = make_ranges(dims, part); !result.ok())
            return result;
        if (result_t result = make_quantize(dims); !result.ok()) return result;
        problem_.parts = parts_;
        return choose_kernel(problem_, isa_, part.quantize);
    }

    // A dimension that one group spans has a group even where it is empty.
    bool whole_group(size_t d) const {
        return granularity_.qtype == qtype_t::per_tensor
               || (granularity_.qtype == qtype_t::per_channel
                       && d != channel_dimension());
    }

    result_t make_ranges(
            const dims_t &dims, dynamic_quantize_t::part_t &part) const {
        const logical_tensor_t &x = op_.inputs[0];
        tensor_view_t ranges {data_type_t::f32, dims_t(dims.size(), 0), true};
        dim_t stride = 1;
        for (size_t d = dims.size(); d-- > 0;) {
            if (part.parameters.grid[d] > 1) ranges.strides[d] = stride;
            stride *= part.parameters.grid[d];
        }
        problem_t problem = make_problem(dims, sizes_within(dims),
                {{type_of(x), strides_of(x), false}, ranges}, {}, 0);
        problem.parts = parts_;
        if (make_jit_ranges(problem, isa_, part.ranges).ok()) return {};
        return make_ref_ranges(problem, isa_, part.ranges);
    }

    dims_t sizes_within(const dims_t &dims) const {
        dims_t sizes = groups_;
        for (size_t d = 0; d < dims.size(); ++d)
            sizes[d] = std::max<dim_t>(std::min(sizes[d], dims[d]), 1);
        return sizes;
    }

    // The second pass is a DynamicQuantize by the outputs of the first.
    result_t make_quantize(const dims_t &dims) {
        const logical_tensor_t &x = op_.inputs[0], &y = op_.outputs[0];
        composition_t composition;
        composition.chain.begin(type_of(x), dims, strides_of(x));
        composition.sources = {{x.id, -1}};
        const auto apply = [&](step_kind_t kind, const logical_tensor_t &tensor,
                                   const dims_t &strides) {
            chain_t::view_t view {type_of(tensor), {}};
            for (size_t d = 0; d < dims.size(); ++d)
                view.along.push_back({strides[d], groups_[d]});
            composition.sources.push_back({tensor.id, -1});
            return composition.chain.apply(kind, view);
        };
        result_t result = apply(
                step_kind_t::divide, op_.outputs[1], parameters_.scale_strides);
        if (result.ok() && has_zps())
            result = apply(step_kind_t::offset, op_.outputs[2],
                    parameters_.zps_strides);
        if (type_of(y) == data_type_t::s8)
            composition.chain.saturate(-127.f, 127.f);
        composition.chain.quantize(type_of(y));
        if (result.ok())
            result = composition.chain.finish(strides_of(y), problem_);
        // No x is beyond its group's range, which is 255 scales wide at most.
        // Scales below 2^-60, which may be 0, are an exception.
        for (auto &step : problem_.steps)
            step.has_small_quotients = step.kind == step_kind_t::divide;
        sources_ = composition.sources;
        sources_.push_back({y.id, -1});
        return result;
    }

    // The outermost dimension that whole groups part, if x is worth it.
    size_t slab_dimension() const {
        const auto elements = element_count(op_.inputs[0]);
        for (size_t d = 0; elements > 0 && d < dims_.size(); ++d) {
            if (dims_[d] == 1) continue;
            if (groups_[d] >= dims_[d]) break;
            const dim_t size = slab_size(d);
            dim_t groups = size / groups_[d];
            for (size_t inner = d + 1; inner < dims_.size(); ++inner)
                groups *= div_up(dims_[inner], groups_[inner]);
            const dim_t slabs = div_up(dims_[d], size);
            if (slabs < fewest_slabs
                    || groups > dynamic_quantize_t::most_groups)
                break;
            return d;
        }
        return dims_.size();
    }

    // Whole groups along a dimension.
    dim_t slab_size(size_t at) const {
        const dim_t elements = element_count(op_.inputs[0]);
        const dim_t bytes = bytes_of(type_of(op_.inputs[0]), elements);
        const dim_t bytes_a_group
                = std::max<dim_t>(bytes / dims_[at] * groups_[at], 1);
        return groups_[at]
               * std::max<dim_t>(slab_bytes_of_src / bytes_a_group, 1);
    }

    std::vector<dim_t> slab_steps(size_t at, dim_t size) const {
        const logical_tensor_t &x = op_.inputs[0], &y = op_.outputs[0];
        const dim_t groups = size / groups_[at];
        std::vector<dim_t> steps {
                bytes_of(type_of(x), 1) * strides_of(x)[at] * size,
                4 * parameters_.scale_strides[at] * groups};
        if (has_zps()) steps.push_back(parameters_.zps_strides[at] * groups);
        steps.push_back(strides_of(y)[at] * size);
        return steps;
    }

    const partition_t &partition_;
    op_record_t op_;
    const isa_t isa_;
    lowered_t &lowered_;
    granularity_t granularity_;
    dims_t dims_, groups_;
    range_parameters_t parameters_;
    dim_t parts_ = 1; // slabs of x
    problem_t problem_;
    std::vector<source_t> sources_;
};

} // namespace

result_t lower_dynamic_quantize(
        const partition_t &partition, isa_t isa, lowered_t &lowered) {
    return lowering_t(partition, isa, lowered).run();
}

} // namespace dnnl_dequant
