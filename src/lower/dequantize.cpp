// dst = (src - zps) * scales, at any granularity, as one problem.

#include "lower/dequantize.hpp"

#include "base/text.hpp"
#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "lower/ports.hpp"
#include "problem/make_problem.hpp"

namespace dnnl_dequant {

namespace {

dim_t div_up(dim_t a, dim_t b) {
    return (a + b - 1) / b;
}

// Strides of scales or zps over src's dimensions, group by group.
result_t parameter_strides(const std::string &who,
        const granularity_t &granularity, const dims_t &src_dims,
        bool may_be_single, const logical_tensor_t &tensor, dims_t &strides) {
    strides.assign(src_dims.size(), 0);
    const dims_t dims = dims_of(tensor);
    const auto refuse = [&](const std::string &expected) {
        return result_t(status_t::invalid_shape,
                text(who, " has shape ", shape_string(tensor), "; expected ",
                        expected));
    };
    const auto stride_of = [&tensor, &dims](size_t d) {
        return dims[d] > 1 ? tensor.layout.strides[d] : 0;
    };
    const dims_t groups = group_sizes(granularity, src_dims);

    if (granularity.qtype == qtype_t::per_group) {
        dims_t expected(src_dims.size());
        for (size_t d = 0; d < expected.size(); ++d)
            expected[d] = div_up(src_dims[d], groups[d]);
        if (dims != expected)
            return refuse(text(dims_string(expected), " (groups of ",
                    dims_string(groups), " in src ", dims_string(src_dims),
                    ")"));
        for (size_t d = 0; d < expected.size(); ++d)
            strides[d] = stride_of(d);
        return {};
    }

    const dim_t count = element_count(tensor);
    if (granularity.qtype == qtype_t::per_tensor || may_be_single) {
        if (count == 1) return {};
        if (granularity.qtype == qtype_t::per_tensor)
            return refuse("one element (per_tensor)");
    }
    const dim_t rank = static_cast<dim_t>(src_dims.size());
    const dim_t axis = granularity.axis;
    const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    // A list of channels, possibly with dimensions of 1 around it.
    size_t lies_along = 0, above_one = 0;
    for (size_t d = 0; d < dims.size(); ++d)
        if (dims[d] != 1) {
            lies_along = d;
            ++above_one;
        }
    if (count != src_dims[at] || above_one > 1)
        return refuse(text("a list of ", src_dims[at], " elements (dimension ",
                at, " of src ", dims_string(src_dims), ")"));
    if (above_one == 1) strides[at] = stride_of(lies_along);
    return {};
}

// The op with the shapes of compile, so that what its schema could not check
// without them is checked now.
op_record_t with_shapes(
        const partition_t &partition, const lowered_t &lowered) {
    op_record_t op = partition.ops.front();
    for (logical_tensor_t &input : op.inputs)
        input = port(lowered.inputs, input.id);
    return op;
}

} // namespace

result_t lower_dequantize(const partition_t &partition, lowered_t &lowered) {
    const op_record_t op = with_shapes(partition, lowered);
    if (result_t result = verify(op); !result.ok()) return result;
    const granularity_t granularity = granularity_of(op);
    const logical_tensor_t &src
            = port(lowered.inputs, *find_role(partition, role_t::src));
    const dims_t dims = dims_of(src);
    const dims_t like_src = dense_strides_like(dims, strides_of(src));

    logical_tensor_t &dst = lowered.outputs.front();
    if (result_t result = infer_output(partition, dims, like_src, dst);
            !result.ok())
        return result;

    std::vector<tensor_view_t> views;
    std::vector<step_t> steps;
    views.push_back({type_of(src), strides_of(src), false});
    lowered.operands.push_back(src.id);

    const auto add_parameter = [&](role_t role, step_kind_t step) -> result_t {
        const size_t *id = find_role(partition, role);
        if (id == nullptr) return {};
        const logical_tensor_t &tensor = port(lowered.inputs, *id);
        tensor_view_t view {type_of(tensor), {}, true};
        result_t result = parameter_strides(describe_port(partition, *id),
                granularity, dims, role == role_t::zps && !is_linear(op),
                tensor, view.strides);
        steps.push_back({step, static_cast<int>(views.size())});
        views.push_back(view);
        lowered.operands.push_back(*id);
        return result;
    };
    result_t result = add_parameter(role_t::zps, step_kind_t::subtract);
    if (result.ok())
        result = add_parameter(role_t::scales, step_kind_t::multiply);
    if (!result.ok()) return result;

    if (demands_zero(op) && op.inputs.size() > 2)
        lowered.must_be_zero.push_back(port(lowered.inputs, op.inputs[2].id));

    views.push_back({type_of(dst), strides_of(dst), false});
    lowered.operands.push_back(dst.id);
    lowered.problem
            = make_problem(dims, group_sizes(granularity, dims), views, steps);
    return {};
}

} // namespace dnnl_dequant
