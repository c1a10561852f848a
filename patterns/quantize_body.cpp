// ONNX's function body of DynamicQuantizeLinear, spelled in oneDNN's ops:
//
//   low   = ReduceMin(x)                      over all dimensions
//   high  = ReduceMax(x)
//   least = Minimum(low, 0)     | Clamp(low, -inf, 0)
//   most  = Maximum(high, 0)    | Clamp(high, 0, inf) | ReLU(high)
//   scale = Divide(Subtract(most, least), 255)
//   zp    = Round(Clamp(Subtract(0, Divide(least, scale)), 0, 255))
//   y     = Clamp(Add(Round(Divide(x, scale)), zp), 0, 255) [-> Quantize]
//         | DynamicQuantize(x, scale, Quantize(zp))
//         | QuantizeLinear(x, scale, Quantize(zp))
//
// where Quantize has scale 1 and zero point 0: oneDNN's only cast to u8. 0 and
// 255 as inputs are tensors, whose values are read when it is executed.

#include "patterns/quantize_body.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity.hpp"
#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float greatest_u8 = 255.f;

template <typename T>
bool holds_only(const op_record_t &op, int name, T value) {
    const auto *values = find_attribute<std::vector<T>>(op, name);
    return values != nullptr && values->size() == 1 && values->front() == value;
}

bool is_clamp(const op_record_t &op, float lower, float upper) {
    return op.kind == dnnl_graph_op_clamp
           && holds_only(op, dnnl_graph_op_attr_min, lower)
           && holds_only(op, dnnl_graph_op_attr_max, upper);
}

// Whole numbers of f32 in u8's range become u8.
bool is_cast_to_u8(const op_record_t &op) {
    const auto *zps = find_attribute<dims_t>(op, dnnl_graph_op_attr_zps);
    return op.kind == dnnl_graph_op_quantize
           && type_of(op.outputs[0]) == data_type_t::u8
           && holds_only(op, dnnl_graph_op_attr_scales, 1.f)
           && (zps == nullptr || zps->empty() || *zps == dims_t {0});
}

bool broadcasts(const op_record_t &op) {
    const auto *how = find_attribute<std::string>(
            op, dnnl_graph_op_attr_auto_broadcast);
    return how == nullptr || *how != "none";
}

class matcher_t {
public:
    matcher_t(const scope_t &scope, quantize_body_t &body)
        : scope_(scope)
        , body_(body) {}

    result_t match(const op_record_t &root) {
        if (!find_tail(root) || !find_zero_point() || !find_scale()
                || !find_range())
            return {status_t::unimplemented, ""};
        std::reverse(body_.ops.begin(), body_.ops.end());
        for (logical_tensor_t *tensor : {&body_.x, &body_.y, &body_.scale,
                     &body_.rounded, &body_.levels, &body_.origin})
            *tensor = scope_.known(*tensor);
        for (auto *scalar : {&body_.least, &body_.greatest})
            if (*scalar) **scalar = scope_.known(**scalar);
        return check(root);
    }

private:
    // The op that gives `tensor`, if it is of that kind, as one of the body's.
    const op_record_t *take(const logical_tensor_t &tensor, int kind) {
        const op_record_t *op = scope_.any_producer(tensor.id);
        if (op == nullptr || op->kind != kind || !broadcasts(*op))
            return nullptr;
        body_.ops.push_back(op);
        return op;
    }
    bool gives(const logical_tensor_t &tensor, int kind) const {
        const op_record_t *op = scope_.any_producer(tensor.id);
        return op != nullptr && op->kind == kind;
    }

    // --- y, from its end; consumers stand before producers until the end

    bool find_tail(const op_record_t &root) {
        if (root.inputs.empty() || root.outputs.empty()) return false;
        body_.y = root.outputs[0];
        body_.ops.push_back(&root);
        if (root.kind == dnnl_graph_op_dynamic_quantize
                || root.kind == dnnl_dequant_op_QuantizeLinear)
            return find_quantize(root);
        if (!is_cast_to_u8(root)) return find_sum(root);
        const op_record_t *bound = take(root.inputs[0], dnnl_graph_op_clamp);
        return bound != nullptr && find_sum(*bound);
    }

    bool find_quantize(const op_record_t &root) {
        if (type_of(root.outputs[0]) != data_type_t::u8
                || (root.kind == dnnl_graph_op_dynamic_quantize
                        && granularity_of(root).qtype != qtype_t::per_tensor))
            return false;
        body_.tail = root.kind == dnnl_graph_op_dynamic_quantize
                             ? quantize_body_t::tail_t::dynamic
                             : quantize_body_t::tail_t::linear;
        body_.x = root.inputs[0];
        body_.scale = root.inputs[1];
        // The scale where there is no zero point, which no cast gives.
        body_.zero_point = root.inputs.back();
        const op_record_t *cast
                = take(root.inputs.back(), dnnl_graph_op_quantize);
        if (cast == nullptr || !is_cast_to_u8(*cast)) return false;
        body_.rounded = cast->inputs[0];
        return true;
    }

    bool find_sum(const op_record_t &bound) {
        if (!is_clamp(bound, 0.f, greatest_u8)) return false;
        const op_record_t *sum = take(bound.inputs[0], dnnl_graph_op_add);
        if (sum == nullptr) return false;
        for (const size_t quotient : {0u, 1u}) {
            const op_record_t *round
                    = scope_.any_producer(sum->inputs[quotient].id);
            if (round == nullptr || round->kind != dnnl_graph_op_round
                    || !gives(round->inputs[0], dnnl_graph_op_divide))
                continue;
            body_.ops.push_back(round);
            const op_record_t *divide
                    = take(round->inputs[0], dnnl_graph_op_divide);
            if (divide == nullptr) return false;
            body_.x = divide->inputs[0];
            body_.scale = divide->inputs[1];
            body_.rounded = sum->inputs[1 - quotient];
            return true;
        }
        return false;
    }

    // --- the parameters

    bool find_zero_point() {
        const op_record_t *round = take(body_.rounded, dnnl_graph_op_round);
        if (round == nullptr) return false;
        const op_record_t *bound = take(round->inputs[0], dnnl_graph_op_clamp);
        if (bound == nullptr || !is_clamp(*bound, 0.f, greatest_u8))
            return false;
        const op_record_t *difference
                = take(bound->inputs[0], dnnl_graph_op_subtract);
        if (difference == nullptr) return false;
        body_.origin = difference->inputs[0];
        const op_record_t *quotient
                = take(difference->inputs[1], dnnl_graph_op_divide);
        if (quotient == nullptr || quotient->inputs[1].id != body_.scale.id)
            return false;
        least_ = quotient->inputs[0];
        return true;
    }

    bool find_scale() {
        const op_record_t *quotient = take(body_.scale, dnnl_graph_op_divide);
        if (quotient == nullptr) return false;
        body_.levels = quotient->inputs[1];
        const op_record_t *range
                = take(quotient->inputs[0], dnnl_graph_op_subtract);
        if (range == nullptr || range->inputs[1].id != least_.id) return false;
        most_ = range->inputs[0];
        return true;
    }

    bool find_range() {
        logical_tensor_t low, high;
        if (!find_bound(most_, dnnl_graph_op_maximum, high, body_.greatest)
                || !find_bound(least_, dnnl_graph_op_minimum, low, body_.least))
            return false;
        const op_record_t *min = take(low, dnnl_graph_op_reduce_min);
        const op_record_t *max = take(high, dnnl_graph_op_reduce_max);
        if (min == nullptr || max == nullptr) return false;
        body_.keeps_dims = keeps_dims(*min) || keeps_dims(*max);
        return reduces_all(*min) && reduces_all(*max);
    }

    // A value that 0 bounds: by an attribute, or by a tensor on either side.
    bool find_bound(const logical_tensor_t &bounded, int kind,
            logical_tensor_t &value, std::optional<logical_tensor_t> &bound) {
        const op_record_t *op = scope_.any_producer(bounded.id);
        if (op == nullptr || !broadcasts(*op)) return false;
        const bool is_max = kind == dnnl_graph_op_maximum;
        if (op->kind == kind) {
            const int reduces = is_max ? dnnl_graph_op_reduce_max
                                       : dnnl_graph_op_reduce_min;
            const size_t at = gives(op->inputs[0], reduces) ? 0 : 1;
            value = op->inputs[at];
            bound = op->inputs[1 - at];
        } else if (is_max ? is_clamp(*op, 0.f, infinity)
                                    || op->kind == dnnl_graph_op_relu
                          : is_clamp(*op, -infinity, 0.f)) {
            value = op->inputs[0];
        } else return false;
        body_.ops.push_back(op);
        return true;
    }

    static bool keeps_dims(const op_record_t &op) {
        const auto *keeps = find_attribute<std::vector<uint8_t>>(
                op, dnnl_graph_op_attr_keep_dims);
        return keeps != nullptr && !keeps->empty() && keeps->front() != 0;
    }

    bool reduces_all(const op_record_t &op) const {
        const auto *axes = find_attribute<dims_t>(op, dnnl_graph_op_attr_axes);
        const logical_tensor_t x = scope_.known(body_.x);
        if (op.inputs.size() != 1 || op.inputs[0].id != x.id || axes == nullptr
                || x.ndims < 1)
            return false;
        std::set<dim_t> found;
        for (const dim_t axis : *axes)
            found.insert(axis < 0 ? axis + x.ndims : axis);
        return found.size() == static_cast<size_t>(x.ndims)
               && *found.begin() == 0 && *found.rbegin() == x.ndims - 1;
    }

    // --- what keeps it from being one partition all the same

    result_t check(const op_record_t &root) const {
        if (type_of(body_.x) != data_type_t::f32)
            return refuse(
                    root, "the range of its source is not computed in f32");
        for (const op_record_t *op : body_.ops) {
            const size_t value = op->outputs[0].id;
            if (op != &root && !may_leave(value)
                    && scope_.uses(value) != uses_inside(value))
                return refuse(root,
                        "its range is spelled out, but others use the value "
                        "of " + describe(*op));
        }
        for (const auto &scalar : {body_.least, body_.greatest,
                     std::optional(body_.levels), std::optional(body_.origin)})
            if (scalar && !is_scalar(*scalar))
                return refuse(root,
                        text("its range is spelled out, but input ", scalar->id,
                                " of it is no scalar that no op gives"));
        return {};
    }

    bool may_leave(size_t value) const {
        return value == body_.scale.id || value == body_.rounded.id
               || (body_.zero_point && value == body_.zero_point->id);
    }

    size_t uses_inside(size_t value) const {
        size_t count = 0;
        for (const op_record_t *op : body_.ops)
            for (const logical_tensor_t &input : op->inputs)
                count += input.id == value;
        return count;
    }

    // A scalar has no more dimensions than x, since y is of x's shape.
    bool is_scalar(const logical_tensor_t &tensor) const {
        return has_shape(tensor) && element_count(tensor) == 1
               && tensor.ndims <= body_.x.ndims
               && type_of(tensor) == data_type_t::f32
               && scope_.is_given_from_outside(tensor.id);
    }

    const scope_t &scope_;
    quantize_body_t &body_;
    logical_tensor_t least_ {}, most_ {};
};

} // namespace

result_t match_quantize_body(
        const scope_t &scope, const op_record_t &root, quantize_body_t &body) {
    return matcher_t(scope, body).match(root);
}

} // namespace dnnl_dequant
