// Attention over keys or values that are dequantized:
//
//   query, [... ->] keys -> MatMul -> scores
//   scores -> {Divide | Multiply | Add | Tanh | TypeCast | Select}* -> SoftMax
//          [-> TypeCast] -> weights
//   weights, [... ->] values -> MatMul -> dst
//
// Select's condition is a boolean tensor, or a causal mask (causal_mask.cpp).
// The ops behind go on with the result as the value.

#include <algorithm>

#include "base/convert.hpp"
#include "base/text.hpp"
#include "graph/layout_op.hpp"
#include "graph/logical_tensor.hpp"
#include "patterns/product.hpp"

namespace dnnl_dequant {

namespace {

// Ops from the scores to SoftMax, at most.
constexpr int max_score_ops = 12;

bool is_layout(const op_record_t &op) {
    return op.kind == dnnl_graph_op_static_reshape
           || op.kind == dnnl_graph_op_static_transpose
           || op.kind == dnnl_graph_op_type_cast;
}

class matcher_t {
public:
    matcher_t(const scope_t &scope, const op_record_t &root, int depth)
        : scope_(scope)
        , root_(root)
        , product_(std::make_shared<product_t>())
        , attention_(std::make_shared<attention_t>()) {
        product_->weights.depth = depth;
        attention_->query.depth = attention_->keys.depth = depth;
    }

    result_t run(composition_t &composition) {
        if (!find_softmax() || !find_scores(softmax_->inputs[0].id, 0))
            return {status_t::unimplemented, ""};
        result_t result = compose_factors();
        if (result.ok()) result = check_softmax();
        if (result.ok()) result = compose_parts();
        if (result.ok()) result = compose_result();
        if (!result.ok()) return result;
        init_ops(composition);
        product_->attention = attention_;
        result = begin_product(scope_, root_, product_, composition);
        return result.ok() ? check_uses(composition) : result;
    }

private:
    // An op between the scores and SoftMax, and which of its inputs they are.
    struct link_t {
        const op_record_t *op;
        size_t value;
    };

    // --- the ops, from the last one

    bool find_softmax() {
        const op_record_t *op = scope_.any_producer(root_.inputs[0].id);
        if (op != nullptr && op->kind == dnnl_graph_op_type_cast) {
            cast_ = op;
            op = scope_.any_producer(op->inputs[0].id);
        }
        if (op == nullptr || op->kind != dnnl_graph_op_softmax) return false;
        softmax_ = op;
        return true;
    }

    // The way from a MatMul to `tensor`.
    bool find_scores(size_t tensor, int depth) {
        const op_record_t *op = scope_.any_producer(tensor);
        if (op == nullptr || depth > max_score_ops) return false;
        if (op->kind == dnnl_graph_op_matmul) {
            scores_ = op;
            return true;
        }
        for (const size_t value : values_of(*op))
            if (value < op->inputs.size()
                    && find_scores(op->inputs[value].id, depth + 1)) {
                links_.push_back({op, value});
                return true;
            }
        return false;
    }

    // The inputs that scores may be.
    static std::vector<size_t> values_of(const op_record_t &op) {
        switch (op.kind) {
        case dnnl_graph_op_divide:
        case dnnl_graph_op_tanh:
        case dnnl_graph_op_type_cast: return {0};
        case dnnl_graph_op_multiply:
        case dnnl_graph_op_add: return {0, 1};
        case dnnl_graph_op_select: return {1, 2};
        default: return {};
        }
    }

    // --- what is multiplied

    result_t compose_factors() {
        compose_factor(root_, 1, product_->weights);
        compose_factor(*scores_, 1, attention_->keys);
        if (!product_->weights.dequantizes && !attention_->keys.dequantizes)
            return {status_t::unimplemented, ""};
        compose_factor(*scores_, 0, attention_->query);
        result_t result = finish_factor(root_, 1, product_->weights);
        if (result.ok()) result = finish_factor(*scores_, 1, attention_->keys);
        if (result.ok()) result = finish_factor(*scores_, 0, attention_->query);
        if (!result.ok()) return result;
        if (scores_->inputs.size() > 2)
            return refuse(*scores_, "its scores have a bias");
        if (has_flag(root_, dnnl_graph_op_attr_transpose_a))
            return refuse(root_, "it transposes the weights of attention");
        return product_shape(*scores_, attention_->query.chain.shape(),
                attention_->keys.chain.shape(), attention_->scores);
    }

    // Composes a factor that a dequantize gives, or ops that change the layout
    // only. Any other factor is a tensor.
    void compose_factor(
            const op_record_t &op, size_t index, composition_t &factor) const {
        compose_input(scope_, op, index, factor);
        const bool is_plain = std::all_of(factor.ops.begin(), factor.ops.end(),
                [](const op_record_t *inner) { return is_layout(*inner); });
        if (factor.product || (!factor.dequantizes && !is_plain)) {
            factor = composition_t();
            compose_outside(scope_, op, index, factor);
        }
    }

    result_t compose_result() {
        const dims_t &scores = attention_->scores;
        const dims_t &values = product_->weights.chain.shape();
        result_t result = product_shape(root_, scores, values, product_->shape);
        if (!result.ok()) return result;
        if (product_->shape.size() != scores.size()
                || !std::equal(scores.begin(), scores.end() - 1,
                        product_->shape.begin()))
            return refuse(root_,
                    text("scores have shape ", dims_string(scores),
                            " and values ", dims_string(values),
                            "; expected no batches that only values have"));
        return {};
    }

    // --- what becomes of the scores

    result_t check_softmax() {
        const auto rank = static_cast<dim_t>(attention_->scores.size());
        const auto *axis
                = find_attribute<dims_t>(*softmax_, dnnl_graph_op_attr_axis);
        const dim_t along
                = axis != nullptr && !axis->empty() ? axis->front() : dim_t(1);
        if (along != -1 && along != rank - 1)
            return refuse(*softmax_,
                    text("its axis is ", along, "; expected that of tokens, ",
                            rank - 1));
        if (softmax_->outputs.size() > 1) {
            const logical_tensor_t &stats = softmax_->outputs[1];
            if (type_of(stats) != data_type_t::f32)
                return refuse(*softmax_, "its Stats are not of type f32");
            attention_->stats = stats;
        }
        const auto *mode = find_attribute<std::string>(
                *softmax_, dnnl_graph_op_attr_mode);
        attention_->masked_rows_are_zero
                = mode != nullptr && *mode == "inf_as_zero";
        if (mode != nullptr && *mode != "none" && *mode != "inf_as_zero")
            return refuse(
                    *softmax_, text("its mode is '", *mode,
                                       "'; expected none or inf_as_zero"));
        return {};
    }

    composition_t &part() { return attention_->parts.back().steps; }

    void begin_part() {
        attention_->parts.emplace_back();
        const dims_t &shape = attention_->scores;
        part().chain.begin(data_type_t::f32, shape, dense_strides(shape));
        part().sources = {source_t()};
    }

    // Scores stay f32, whichever type the graph gives them between two ops:
    // that is closer to the formula's value.
    result_t compose_parts() {
        begin_part();
        result_t result = finish_op(scope_, *scores_, part());
        for (const link_t &link : links_) {
            if (!result.ok()) return result;
            result = compose_link(link);
        }
        part().chain.set_type(data_type_t::f32);
        for (score_part_t &each : attention_->parts)
            each.steps.chain.drop_roundings();
        return result;
    }

    // A tensor that meets the scores, in the dimensions that a StaticReshape
    // gives it where there is one, which is one of our ops then.
    logical_tensor_t aligned(const op_record_t &op, size_t index) {
        const logical_tensor_t &named = op.inputs[index];
        const op_record_t *reshape = scope_.producer(named.id);
        if (reshape == nullptr || reshape->kind != dnnl_graph_op_static_reshape)
            return scope_.known(named);
        logical_tensor_t tensor = scope_.known(reshape->inputs[0]);
        dims_t dims;
        if (!has_shape(tensor)
                || strides_or_dense(tensor) != dense_strides(dims_of(tensor))
                || !reshaped_dims(*reshape, dims_of(tensor), dims).ok())
            return scope_.known(named);
        part().ops.push_back(reshape);
        tensor.ndims = static_cast<int>(dims.size());
        std::copy(dims.begin(), dims.end(), tensor.dims);
        set_layout(tensor, dims, dense_strides(dims));
        return tensor;
    }

    result_t compose_tensor(
            step_kind_t kind, const op_record_t &op, size_t index) {
        const logical_tensor_t tensor = aligned(op, index);
        if (tensor.id == op.inputs[index].id)
            return apply_tensor(kind, scope_, op, index, part());
        chain_t::view_t view;
        result_t result = broadcast_view(op, index, tensor, part().chain, view);
        if (result.ok()) result = part().chain.apply(kind, view);
        if (!result.ok()) return refuse(op, result.reason, result.status);
        part().sources.push_back({tensor.id, -1});
        return finish_computed_op(scope_, op, part());
    }

    result_t compose_link(const link_t &link) {
        const op_record_t &op = *link.op;
        const size_t other = 1 - link.value;
        switch (op.kind) {
        case dnnl_graph_op_divide:
            return compose_tensor(step_kind_t::divide, op, other);
        case dnnl_graph_op_multiply:
            return compose_tensor(step_kind_t::multiply, op, other);
        case dnnl_graph_op_add:
            return compose_tensor(step_kind_t::add, op, other);
        case dnnl_graph_op_select: return compose_select(link);
        case dnnl_graph_op_tanh: part().chain.apply(function_t::tanh); break;
        default: break; // TypeCast
        }
        return finish_computed_op(scope_, op, part());
    }

    // --- masks

    result_t compose_select(const link_t &link) {
        const op_record_t &op = *link.op;
        score_mask_t &mask = attention_->parts.back().mask;
        mask.keeps_where_true = link.value == 1;
        const logical_tensor_t fill = scope_.known(op.inputs[3 - link.value]);
        if (!has_shape(fill) || element_count(fill) != 1
                || !is_result_type(type_of(fill)))
            return refuse(
                    op, text("what it puts in the place of scores has shape ",
                                shape_string(fill), " and type ",
                                to_string(type_of(fill)),
                                "; expected one element of f32, bf16 or f16"));
        mask.fill = fill.id;
        mask.fill_type = type_of(fill);
        const op_record_t *compares = scope_.any_producer(op.inputs[0].id);
        result_t result
                = compares != nullptr
                                  && compares->kind
                                             == dnnl_graph_op_greater_equal
                          ? match_causal_mask(scope_, *compares,
                                    attention_->scores.size(),
                                    [this](size_t tensor) {
            return is_score(tensor);
        }, mask, part().ops)
                          : compose_condition(op, mask);
        if (!result.ok()) return result;
        part().chain.set_type(data_type_t::f32);
        part().ops.push_back(&op);
        begin_part();
        return {};
    }

    result_t compose_condition(const op_record_t &op, score_mask_t &mask) {
        const logical_tensor_t condition = aligned(op, 0);
        if (condition.data_type != dnnl_boolean)
            return refuse(op, "its condition is not boolean");
        chain_t::view_t view;
        const result_t result
                = broadcast_view(op, 0, condition, part().chain, view);
        if (!result.ok()) return result;
        mask.kind = score_mask_t::kind_t::tensor;
        mask.condition = condition.id;
        for (const chain_t::along_t &along : view.along)
            mask.strides.push_back(along.stride);
        return {};
    }

    // True for the scores, or a value that was made of them.
    bool is_score(size_t tensor) const {
        return tensor == scores_->outputs[0].id
               || std::any_of(links_.begin(), links_.end(),
                       [tensor](const link_t &link) {
            return link.op->outputs[0].id == tensor;
        });
    }

    // --- all of them

    // Producers before consumers, each once: masks may share theirs.
    void init_ops(composition_t &composition) const {
        composition_t all;
        append_ops(all, attention_->query);
        append_ops(all, attention_->keys);
        for (const score_part_t &part : attention_->parts)
            append_ops(all, part.steps);
        all.ops.push_back(softmax_);
        if (cast_ != nullptr) all.ops.push_back(cast_);
        append_ops(all, product_->weights);
        composition.must_be_zero = all.must_be_zero;
        for (const op_record_t *op : all.ops)
            if (std::find(composition.ops.begin(), composition.ops.end(), op)
                    == composition.ops.end())
                composition.ops.push_back(op);
    }

    // Nobody else reads a value inside.
    result_t check_uses(const composition_t &composition) const {
        for (const op_record_t *op : composition.ops) {
            if (op == &root_) continue;
            for (const logical_tensor_t &output : op->outputs) {
                if (is_operand(composition, output.id))
                    return refuse(*op,
                            "it is a part of attention, which uses its value "
                            "in another place, too");
                if (attention_->stats && output.id == attention_->stats->id)
                    continue;
                size_t inside = 0;
                for (const op_record_t *other : composition.ops)
                    for (const logical_tensor_t &input : other->inputs)
                        inside += input.id == output.id;
                if (scope_.uses(output.id) != inside)
                    return refuse(*op,
                            "it is a part of attention, but others use its "
                            "value");
            }
        }
        return {};
    }

    const scope_t &scope_;
    const op_record_t &root_;
    const std::shared_ptr<product_t> product_;
    const std::shared_ptr<attention_t> attention_;
    const op_record_t *softmax_ = nullptr, *scores_ = nullptr;
    const op_record_t *cast_ = nullptr; // of the weights, if there is one
    std::vector<link_t> links_;         // from the scores on
};

} // namespace

result_t compose_attention(const scope_t &scope, const op_record_t &op,
        composition_t &composition) {
    return matcher_t(scope, op, composition.depth).run(composition);
}

} // namespace dnnl_dequant
