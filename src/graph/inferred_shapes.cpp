#include "graph/inferred_shapes.hpp"

#include <algorithm>

#include "dnnl_dequant/dnnl_dequant.h"
#include "graph/granularity.hpp"
#include "graph/layout_op.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/op_schema.hpp"

namespace dnnl_dequant {

namespace {

// The first output has the first input's shape.
bool keeps_shape(int kind) {
    switch (kind) {
    case dnnl_graph_op_abs:
    case dnnl_graph_op_batch_norm_inference:
    case dnnl_graph_op_bias_add:
    case dnnl_graph_op_clamp:
    case dnnl_graph_op_dequantize:
    case dnnl_graph_op_dynamic_dequantize:
    case dnnl_graph_op_dynamic_quantize:
    case dnnl_graph_op_elu:
    case dnnl_graph_op_exp:
    case dnnl_graph_op_gelu:
    case dnnl_graph_op_hard_sigmoid:
    case dnnl_graph_op_hard_swish:
    case dnnl_graph_op_layer_norm:
    case dnnl_graph_op_leaky_relu:
    case dnnl_graph_op_log:
    case dnnl_graph_op_log_softmax:
    case dnnl_graph_op_mish:
    case dnnl_graph_op_prelu:
    case dnnl_graph_op_quantize:
    case dnnl_graph_op_reciprocal:
    case dnnl_graph_op_relu:
    case dnnl_graph_op_reorder:
    case dnnl_graph_op_round:
    case dnnl_graph_op_sigmoid:
    case dnnl_graph_op_softmax:
    case dnnl_graph_op_softplus:
    case dnnl_graph_op_sqrt:
    case dnnl_graph_op_square:
    case dnnl_graph_op_tanh:
    case dnnl_graph_op_type_cast:
    case dnnl_dequant_op_DequantizeLinear:
    case dnnl_dequant_op_DynamicQuantizeLinear:
    case dnnl_dequant_op_ExtendedDequantizeLinear:
    case dnnl_dequant_op_QuantizeLinear:
    case dnnl_dequant_op_ExtendedQuantizeLinear: return true;
    default: return false;
    }
}

bool broadcasts(int kind) {
    switch (kind) {
    case dnnl_graph_op_add:
    case dnnl_graph_op_divide:
    case dnnl_graph_op_greater_equal:
    case dnnl_graph_op_maximum:
    case dnnl_graph_op_minimum:
    case dnnl_graph_op_multiply:
    case dnnl_graph_op_pow:
    case dnnl_graph_op_select:
    case dnnl_graph_op_squared_difference:
    case dnnl_graph_op_subtract: return true;
    default: return false;
    }
}

// Broadcasts as numpy does, counted from the last dimension. Returns false if
// the shapes do not go together.
bool broadcast(dims_t &shape, const dims_t &other) {
    if (other.size() > shape.size())
        shape.insert(shape.begin(), other.size() - shape.size(), 1);
    const size_t more = shape.size() - other.size();
    for (size_t d = 0; d < other.size(); ++d) {
        dim_t &extent = shape[more + d];
        if (extent == 1) extent = other[d];
        else if (other[d] != 1 && other[d] != extent) return false;
    }
    return true;
}

// The dimensions before a factor's last two, and these two, as multiplied.
struct matrix_t {
    dims_t batch;
    dim_t rows, cols;

    matrix_t(const dims_t &shape, const op_record_t &op, int transposed)
        : batch(shape.begin(), shape.end() - 2)
        , rows(shape[shape.size() - 2])
        , cols(shape.back()) {
        const auto *flag = find_attribute<std::vector<uint8_t>>(op, transposed);
        if (flag && !flag->empty() && flag->front()) std::swap(rows, cols);
    }
};

} // namespace

inferred_shapes_t::inferred_shapes_t(const std::vector<op_record_t> &ops) {
    const auto note = [this](const logical_tensor_t &tensor) {
        if (has_shape(tensor)) shapes_.emplace(tensor.id, dims_of(tensor));
    };
    for (const op_record_t &op : ops) {
        std::for_each(op.inputs.begin(), op.inputs.end(), note);
        std::for_each(op.outputs.begin(), op.outputs.end(), note);
    }
    // Ops may stand in any order; where producers come first one round is all.
    for (bool learned = true; learned;) {
        learned = false;
        for (const op_record_t &op : ops)
            for (size_t o = 0; o < op.outputs.size(); ++o) {
                dims_t shape;
                if (find(op.outputs[o])
                        || !(o == 0 ? infer(op, shape)
                                    : infer_found_scales(op, shape)))
                    continue;
                shapes_.emplace(op.outputs[o].id, shape);
                learned = true;
            }
    }
}

logical_tensor_t inferred_shapes_t::complete(
        const logical_tensor_t &named) const {
    logical_tensor_t tensor = named;
    const dims_t *const shape = has_shape(named) ? nullptr : find(named);
    if (shape) set_layout(tensor, *shape, dense_strides(*shape));
    return tensor;
}

const dims_t *inferred_shapes_t::find(const logical_tensor_t &tensor) const {
    const auto found = shapes_.find(tensor.id);
    return found == shapes_.end() ? nullptr : &found->second;
}

bool inferred_shapes_t::infer(const op_record_t &op, dims_t &shape) const {
    if (broadcasts(op.kind)) return infer_broadcast(op, shape);
    if (op.kind == dnnl_graph_op_matmul) return infer_matmul(op, shape);
    const dims_t *const src = op.inputs.empty() ? nullptr : find(op.inputs[0]);
    if (src == nullptr) return false;
    if (op.kind == dnnl_graph_op_static_reshape) {
        if (!reshaped_dims(op, *src, shape).ok()) return false;
    } else if (op.kind == dnnl_graph_op_static_transpose) {
        std::vector<size_t> order;
        if (!transpose_order(op, src->size(), order).ok()) return false;
        for (const size_t d : order)
            shape.push_back((*src)[d]);
    } else if (keeps_shape(op.kind)) {
        shape = *src;
    } else {
        return false;
    }
    return shape.size() <= DNNL_MAX_NDIMS;
}

bool inferred_shapes_t::infer_found_scales(
        const op_record_t &op, dims_t &shape) const {
    const dims_t *const src
            = is_range_quantize(op) ? find(op.inputs[0]) : nullptr;
    if (src == nullptr) return false;
    // Compilation refuses what nobody could check without a shape.
    op_record_t known = op;
    set_layout(known.inputs[0], *src, dense_strides(*src));
    if (!verify(known).ok()) return false;
    shape = found_scales_dims(granularity_of(known), *src);
    return true;
}

bool inferred_shapes_t::infer_broadcast(
        const op_record_t &op, dims_t &shape) const {
    for (const logical_tensor_t &input : op.inputs) {
        const dims_t *const other = find(input);
        if (other == nullptr || !broadcast(shape, *other)) return false;
    }
    return true;
}

bool inferred_shapes_t::infer_matmul(
        const op_record_t &op, dims_t &shape) const {
    const dims_t *factors[2] {};
    for (size_t i = 0; i < 2; ++i) {
        factors[i] = i < op.inputs.size() ? find(op.inputs[i]) : nullptr;
        if (factors[i] == nullptr || factors[i]->size() < 2) return false;
    }
    const matrix_t src(*factors[0], op, dnnl_graph_op_attr_transpose_a),
            weights(*factors[1], op, dnnl_graph_op_attr_transpose_b);
    shape = src.batch;
    if (src.cols != weights.rows || !broadcast(shape, weights.batch))
        return false;
    shape.insert(shape.end(), {src.rows, weights.cols});
    return true;
}

} // namespace dnnl_dequant
