// Scales and zero points of dequantize and quantize ops: their place over the
// value's dimensions.

#include "base/text.hpp"
#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

namespace {

// Scales or zps of `op` over src's dimensions.
class parameter_t {
public:
    parameter_t(const op_record_t &op, size_t index, const dims_t &src_dims)
        : op_(op)
        , index_(index)
        , tensor_(op.inputs[index])
        , src_dims_(src_dims)
        , dims_(dims_of(tensor_))
        , strides_(strides_or_dense(tensor_)) {}

    result_t place(chain_t::view_t &view) const {
        view.type = type_of(tensor_);
        view.along.assign(src_dims_.size(), {});
        const granularity_t granularity = granularity_of(op_);
        if (result_t result = check_rank(granularity); !result.ok())
            return result;
        if (granularity.qtype == qtype_t::per_group)
            return place_groups(group_sizes(granularity, src_dims_), view);
        // oneDNN takes one zero point for all channels; ONNX does not.
        const bool may_be_single = granularity.qtype == qtype_t::per_tensor
                                   || (index_ == 2 && !is_linear(op_));
        const dim_t count = element_count(tensor_);
        if (may_be_single && count == 1) return {};
        if (granularity.qtype == qtype_t::per_tensor)
            return wrong("one element (per_tensor)");
        return place_channels(granularity.axis, view);
    }

private:
    // The status is oneDNN's own for its ops.
    result_t wrong(const std::string &expected) const {
        return refuse(op_,
                text(input_name(op_, index_), " (id ", tensor_.id,
                        ") has shape ", shape_string(tensor_), "; expected ",
                        expected),
                is_linear(op_) ? status_t::invalid_shape
                               : status_t::invalid_arguments);
    }

    // The op was checked by its own src. The value before it may have another
    // rank, where the user's shapes contradict each other.
    result_t check_rank(const granularity_t &granularity) const {
        const dim_t rank = static_cast<dim_t>(src_dims_.size());
        const dim_t axis = granularity.axis;
        const bool fits
                = granularity.qtype == qtype_t::per_group
                          ? granularity.group_shape.size() == src_dims_.size()
                          : granularity.qtype == qtype_t::per_tensor
                                    || (axis >= -rank && axis < rank);
        if (fits) return {};
        return refuse(op_,
                text("src has shape ", dims_string(src_dims_),
                        ", whose rank is not that of the axis or group_shape"),
                is_linear(op_) ? status_t::invalid_shape
                               : status_t::invalid_arguments);
    }

    result_t place_groups(const dims_t &groups, chain_t::view_t &view) const {
        dims_t expected(src_dims_.size());
        for (size_t d = 0; d < expected.size(); ++d)
            expected[d] = div_up(src_dims_[d], groups[d]);
        if (dims_ != expected)
            return wrong(text(dims_string(expected), " (groups of ",
                    dims_string(groups), " in src ", dims_string(src_dims_),
                    ")"));
        for (size_t d = 0; d < expected.size(); ++d)
            if (dims_[d] > 1) view.along[d] = {strides_[d], groups[d]};
        return {};
    }

    // A list of channels, possibly with dimensions of 1 around it.
    result_t place_channels(dim_t axis, chain_t::view_t &view) const {
        const dim_t rank = static_cast<dim_t>(src_dims_.size());
        const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
        size_t lies_along = 0, above_one = 0;
        for (size_t d = 0; d < dims_.size(); ++d)
            if (dims_[d] != 1) {
                lies_along = d;
                ++above_one;
            }
        if (element_count(tensor_) != src_dims_[at] || above_one > 1)
            return wrong(
                    text("a list of ", src_dims_[at], " elements (dimension ",
                            at, " of src ", dims_string(src_dims_), ")"));
        if (above_one == 1) view.along[at] = {strides_[lies_along], 1};
        return {};
    }

    const op_record_t &op_;
    const size_t index_;
    const logical_tensor_t &tensor_;
    const dims_t &src_dims_;
    const dims_t dims_, strides_;
};

} // namespace

result_t apply_parameter(step_kind_t kind, const op_record_t &op, size_t index,
        composition_t &composition) {
    chain_t::view_t view;
    view.type = type_of(op.inputs[index]);
    if (composition.chain.has_shape()) {
        if (!has_shape(op.inputs[index]))
            return refuse(op, "shapes are not known yet");
        const result_t placed
                = parameter_t(op, index, composition.chain.shape()).place(view);
        if (!placed.ok()) return placed;
    }
    return apply_input(kind, op, index, view, composition);
}

op_record_t with_known(
        const scope_t &scope, const op_record_t &op, const chain_t &src) {
    op_record_t result = op;
    for (logical_tensor_t &input : result.inputs)
        input = scope.known(input);
    if (src.has_shape() && !has_shape(result.inputs[0]))
        set_layout(result.inputs[0], src.shape(), dense_strides(src.shape()));
    return result;
}

} // namespace dnnl_dequant
