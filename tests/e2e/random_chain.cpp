#include "e2e/random_chain.hpp"

#include <algorithm>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/random_shape.hpp"

namespace dnnl_dequant {
namespace e2e {

namespace {

using support::qtype_t;
using support::random_t;
using support::tensor_t;
using t = data_type_t;
using types_t = std::vector<t>;

class chain_builder_t {
public:
    explicit chain_builder_t(uint64_t seed)
        : random_(seed) {
        g_.shaped = !random_.one_in(6);
    }

    chain_graph_t make() {
        size_t value = dequantized(any_shape(random_));
        const dim_t steps = random_.between(0, 6);
        for (dim_t step = 0; step < steps; ++step) {
            if (random_.one_in(10)) tap(value);
            value = any_step(value);
        }
        return std::move(g_);
    }

    chain_graph_t make(
            size_t dequantize_kind, const std::vector<chain_step_t> &steps) {
        g_.shaped = true;
        size_t value = dequantized(any_shape(random_), dequantize_kind);
        for (const chain_step_t step : steps)
            value = take_step(step, value);
        return std::move(g_);
    }

private:
    const tensor_t &at(size_t tensor) const { return g_.tensors[tensor]; }

    // --- tensors; shapes by value where they may be a tensor's, as tensors
    // move

    size_t new_tensor(t type, dims_t dims) {
        tensor_t tensor {type, dims, support::dense_strides(dims)};
        if (random_.one_in(4))
            tensor.strides = support::permuted_strides(
                    dims, any_order(random_, dims.size()));
        else if (random_.one_in(8))
            tensor.strides
                    = support::padded_strides(dims, random_.between(1, 3));
        g_.tensors.push_back(tensor);
        return g_.tensors.size() - 1;
    }

    size_t add(chain_node_t node, t type, dims_t dims) {
        const size_t output = new_tensor(type, dims);
        node.outputs = {output};
        g_.nodes.push_back(std::move(node));
        return output;
    }

    // --- ops that move

    size_t transpose(size_t value) {
        const auto order = any_order(random_, at(value).dims.size());
        chain_node_t node {op::kind::StaticTranspose, {value}, {}};
        dims_t dims;
        const auto rank = static_cast<int64_t>(order.size());
        for (const size_t d : order) {
            const auto entry = static_cast<int64_t>(d);
            node.order.push_back(random_.one_in(4) ? entry - rank : entry);
            dims.push_back(at(value).dims[d]);
        }
        return add(node, at(value).type, dims);
    }

    size_t reshape_to(size_t value, dims_t dims) {
        chain_node_t node {op::kind::StaticReshape, {value}, {}};
        node.shape = dims;
        return add(node, at(value).type, dims);
    }

    size_t reorder(size_t value) {
        return add({op::kind::Reorder, {value}, {}}, at(value).type,
                at(value).dims);
    }

    // --- dequantize ops

    // A quantized tensor of the shape, as it comes or brought into it.
    size_t quantized(t type, dims_t shape, bool is_known_type) {
        if (!is_known_type || !random_.one_in(3))
            return new_tensor(type, shape);
        switch (random_.between(0, 2)) {
        case 0: return reorder(new_tensor(type, shape));
        case 1: {
            const size_t raw = new_tensor(type, any_reshape(random_, shape));
            // Compile refuses a tensor that does not lie like the wanted shape.
            if (!g_.shaped)
                g_.tensors[raw].strides = support::dense_strides(at(raw).dims);
            return reshape_to(raw, shape);
        }
        default: break;
        }
        const auto order = any_order(random_, shape.size());
        chain_node_t node {op::kind::StaticTranspose, {}, {}};
        dims_t before(shape.size());
        for (size_t d = 0; d < order.size(); ++d) {
            node.order.push_back(static_cast<int64_t>(order[d]));
            before[order[d]] = shape[d];
        }
        size_t raw = new_tensor(type, before);
        if (random_.one_in(3)) raw = reorder(raw);
        node.inputs = {raw};
        return add(node, type, shape);
    }

    size_t dequantized(dims_t shape) {
        return dequantized(shape, static_cast<size_t>(random_.between(0, 5)));
    }
    size_t dequantized(dims_t shape, size_t kind) {
        switch (kind) {
        case 0: return static_dequantize(shape);
        case 1: return linear(shape, support::dequantize_op_t::linear);
        case 2: return linear(shape, support::dequantize_op_t::extended_linear);
        default: return dynamic(shape);
        }
    }

    size_t static_dequantize(const dims_t &shape) {
        const t type = random_.one_in(2) ? t::u8 : t::s8;
        chain_node_t node {op::kind::Dequantize, {}, {}};
        node.inputs = {quantized(type, shape, true)};
        set_static(node, shape);
        return add(node, t::f32, shape);
    }

    void set_static(chain_node_t &node, const dims_t &shape) {
        const auto axis
                = random_.between(0, static_cast<dim_t>(shape.size()) - 1);
        const dim_t channels = shape[static_cast<size_t>(axis)];
        const bool per_channel = channels > 1 && random_.one_in(2);
        const auto count = per_channel ? static_cast<size_t>(channels) : 1;
        node.axis = axis;
        for (size_t i = 0; i < count; ++i) {
            node.scales.push_back(
                    static_cast<float>(random_.between(1, 1 << 20)) * 0x1p-16f);
            node.zps.push_back(random_.between(-128, 127));
        }
        if (random_.one_in(2)) node.zps.assign(count, 0);
    }

    // oneDNN's, by the same scales and zero points there and back.
    size_t requantize(size_t value) {
        const dims_t dims = at(value).dims;
        if (at(value).type != t::f32) value = type_cast(value);
        chain_node_t quantize {op::kind::Quantize, {value}, {}};
        set_static(quantize, dims);
        const bool is_u8 = random_.one_in(2);
        quantize.lower = is_u8 ? 0.f : -128.f;
        quantize.upper = is_u8 ? 255.f : 127.f;
        chain_node_t dequantize = quantize;
        dequantize.kind = op::kind::Dequantize;
        dequantize.inputs = {add(quantize, is_u8 ? t::u8 : t::s8, dims)};
        return add(dequantize, t::f32, dims);
    }

    t any_float() { return random_.pick(types_t {t::f32, t::bf16, t::f16}); }

    size_t dynamic(const dims_t &shape) {
        dequantize_case_t c;
        c.src.type = random_.pick(types_t {
                t::u8, t::s8, t::u4, t::s4, t::u4, t::s4, t::u16, t::s32});
        c.scales.type = c.dst.type = any_float();
        if (random_.one_in(4)) c.scales.type = any_float();
        c.zps.type = random_.pick(
                types_t {t::undef, c.src.type, t::s8, t::u8, t::s32});
        c.src.dims = shape;
        set_granularity(c, random_.between(0, 2));
        return dequantize(op::kind::DynamicDequantize, c);
    }

    size_t linear(const dims_t &shape, support::dequantize_op_t which) {
        const bool extended
                = which == support::dequantize_op_t::extended_linear;
        dequantize_case_t c;
        c.op = which;
        c.src.type = random_.pick(
                extended ? types_t {t::u8, t::s16, t::u16, t::s32, t::bf16,
                                   t::f32}
                         : types_t {t::u8, t::s8, t::u4, t::s4, t::u16,
                                   t::f8_e4m3, t::f8_e5m2});
        c.scales.type = extended ? t::f32 : any_float();
        c.dst.type = any_float();
        if (random_.one_in(2)) c.zps.type = c.src.type;
        c.src.dims = shape;
        set_granularity(c, random_.between(0, extended ? 1 : 2));
        return dequantize(extended ? op_kind::ExtendedDequantizeLinear
                                   : op_kind::DequantizeLinear,
                c);
    }

    void set_granularity(dequantize_case_t &c, dim_t granularity) {
        const dims_t &dims = c.src.dims;
        const auto last = static_cast<dim_t>(dims.size()) - 1;
        if (c.src.count() == 0) granularity = 0;
        c.qtype = static_cast<qtype_t>(granularity);
        c.axis = random_.between(0, last);
        // One scale is per tensor to ONNX.
        if (c.qtype == qtype_t::per_channel
                && dims[static_cast<size_t>(c.axis)] == 1)
            c.qtype = qtype_t::per_tensor;
        if (random_.one_in(3)) c.axis -= last + 1;
        c.group_shape.assign(dims.size(), 1);
        const auto d = static_cast<size_t>(random_.between(0, last));
        c.group_shape[d] = random_.between(1, std::max<dim_t>(dims[d], 1));
        if (c.op == support::dequantize_op_t::dynamic && random_.one_in(3))
            c.group_shape.back() = std::max<dim_t>(dims.back() / 2, 1);
        c.scales.dims = support::scales_dims_of(c);
        c.zps.dims = c.scales.dims;
        if (c.op == support::dequantize_op_t::dynamic
                && c.qtype == qtype_t::per_channel && random_.one_in(4))
            c.zps.dims = {1};
    }

    size_t dequantize(op::kind kind, const dequantize_case_t &c) {
        chain_node_t node {kind, {}, {}};
        node.dequantize = c;
        node.dequantize.seed = random_.bits();
        const bool may_move = !is_floating(c.src.type);
        node.inputs = {quantized(c.src.type, c.src.dims, may_move),
                new_tensor(c.scales.type, c.scales.dims)};
        if (c.zps.present())
            node.inputs.push_back(new_tensor(c.zps.type, c.zps.dims));
        return add(node, c.dst.type, c.src.dims);
    }

    // --- ops behind

    size_t type_cast(size_t value) {
        const t from = at(value).type;
        const t to = from != t::f32      ? t::f32
                     : random_.one_in(2) ? t::bf16
                                         : t::f16;
        return add({op::kind::TypeCast, {value}, {}}, to, at(value).dims);
    }

    size_t activation(size_t value) {
        static const std::vector<std::pair<float, float>> bounds {
                {-1, 6}, {0, 6}, {-0.f, 2}, {-6, -0.f}, {0.1f, 0.3f}};
        chain_node_t node {op::kind::ReLU, {value}, {}};
        if (random_.one_in(2)) {
            node.kind = op::kind::Clamp;
            std::tie(node.lower, node.upper) = random_.pick(bounds);
        }
        return add(node, at(value).type, at(value).dims);
    }

    // Returns dimensions that broadcast to the value's.
    dims_t any_broadcast(const dims_t &dims) {
        dims_t result = dims;
        if (random_.one_in(2)) return result;
        for (dim_t &dim : result)
            if (random_.one_in(2)) dim = 1;
        if (random_.one_in(2))
            result.erase(result.begin(),
                    result.begin()
                            + random_.between(
                                    0, static_cast<dim_t>(dims.size()) - 1));
        return result;
    }

    size_t side_input(t type, dims_t dims) {
        const size_t tensor = new_tensor(type, dims);
        if (type != t::f32 || !random_.one_in(3)
                || tensor_t {type, dims, {}}.count() == 0)
            return tensor;
        return add({op::kind::SoftMax, {tensor}, {}}, type, dims);
    }

    size_t with_tensor(size_t value, bool multiplies) {
        const t type = at(value).type;
        t side_type = type, dst = type;
        // oneDNN 3.7 takes two types for Multiply only.
        if (multiplies && type == t::bf16 && random_.one_in(3))
            side_type = dst = t::f32;
        const size_t side
                = side_input(side_type, any_broadcast(at(value).dims));
        return binary(multiplies ? op::kind::Multiply : op::kind::Add, value,
                side, dst);
    }

    size_t binary(op::kind kind, size_t value, size_t other, t dst) {
        const dims_t dims = at(value).dims;
        if (random_.one_in(2)) std::swap(value, other);
        return add({kind, {value, other}, {}}, dst, dims);
    }

    // A second value of the type and shape.
    size_t add_residual(size_t value) {
        size_t other = dequantized(at(value).dims);
        while (at(other).type != at(value).type)
            other = type_cast(other);
        if (random_.one_in(3)) other = activation(other);
        return binary(op::kind::Add, value, other, at(value).type);
    }

    size_t any_step(size_t value) {
        using s = chain_step_t;
        static const std::vector<s> steps {s::cast, s::cast, s::reorder,
                s::transpose, s::transpose, s::reshape, s::multiply, s::add,
                s::residual, s::activation, s::requantize};
        const s step = random_.pick(steps);
        if (step == s::residual && random_.one_in(4))
            return binary(op::kind::Add, value, value, at(value).type);
        return take_step(step, value);
    }

    size_t take_step(chain_step_t step, size_t value) {
        switch (step) {
        case chain_step_t::cast: return type_cast(value);
        case chain_step_t::reorder: return reorder(value);
        case chain_step_t::transpose: return transpose(value);
        case chain_step_t::reshape:
            return reshape_to(value, any_reshape(random_, at(value).dims));
        case chain_step_t::multiply: return with_tensor(value, true);
        case chain_step_t::add: return with_tensor(value, false);
        case chain_step_t::residual: return add_residual(value);
        case chain_step_t::activation: return activation(value);
        case chain_step_t::requantize: break;
        }
        return requantize(value);
    }

    // One more consumer.
    void tap(size_t value) {
        switch (random_.between(0, 2)) {
        case 0: g_.nodes.push_back({op::kind::End, {value}, {}}); break;
        case 1:
            add({op::kind::ReLU, {value}, {}}, at(value).type, at(value).dims);
            break;
        default:
            add({op::kind::Wildcard, {value}, {}}, at(value).type,
                    at(value).dims);
        }
    }

    random_t random_;
    chain_graph_t g_;
};

} // namespace

chain_graph_t random_chain(uint64_t seed) {
    return chain_builder_t(seed).make();
}

chain_graph_t chain_of(size_t dequantize,
        const std::vector<chain_step_t> &steps, uint64_t seed) {
    return chain_builder_t(seed).make(dequantize, steps);
}

} // namespace e2e
} // namespace dnnl_dequant
