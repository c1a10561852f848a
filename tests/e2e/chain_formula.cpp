// Computes each op of a chain, point by point, in double arithmetic.

#include <algorithm>
#include <cmath>

#include "e2e/chain_graph.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::tensor_t;

namespace {

struct port_t {
    const tensor_t &tensor;
    void *data;

    // `index` counts from the last dimension; where the tensor has 1, it is
    // the same for all.
    dim_t element(const dims_t &index) const {
        dim_t element = tensor.offset;
        const size_t skipped = index.size() - tensor.dims.size();
        for (size_t d = 0; d < tensor.dims.size(); ++d)
            if (tensor.dims[d] != 1)
                element += index[skipped + d] * tensor.strides[d];
        return element;
    }
    double value(const dims_t &index) const {
        return is_floating(tensor.type)
                       ? support::float_at(tensor.type, data, element(index))
                       : static_cast<double>(support::integer_at(
                                 tensor.type, data, element(index)));
    }
    uint32_t bits(const dims_t &index) const {
        return support::bits_at(tensor.type, data, element(index));
    }
};

double rounded(data_type_t type, double value) {
    const auto &format = support::format_of(type);
    return support::value_of(format, support::round_to(format, value));
}

bool advance(dims_t &index, const dims_t &dims) {
    for (size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d]) return true;
        index[d] = 0;
    }
    return false;
}

// Quantizes as oneDNN does: bounded before it is rounded, NaN to the lower
// bound.
double quantized(const chain_node_t &node, double x, const dims_t &index) {
    const auto channel
            = node.scales.size() > 1
                      ? static_cast<size_t>(
                                index[static_cast<size_t>(node.axis)])
                      : 0;
    const float product = static_cast<float>(x) * (1.f / node.scales[channel]);
    const float sum = product + static_cast<float>(node.zps[channel]);
    const double lower = node.lower, upper = node.upper;
    const double least = sum > node.lower ? static_cast<double>(sum) : lower;
    return std::nearbyint(std::min(least, upper));
}

// The value that an op computes at a point, in f32; a double holds products
// and sums of two f32 so that one rounding is left.
double value_at(const chain_node_t &node, const std::vector<port_t> &inputs,
        const dims_t &index) {
    const double x = inputs[0].value(index);
    switch (node.kind) {
    case op::kind::Add: return x + inputs[1].value(index);
    case op::kind::Multiply: return x * inputs[1].value(index);
    case op::kind::ReLU: return x > 0 ? x : 0;
    case op::kind::Abs: return std::fabs(x);
    case op::kind::Exp: return std::exp(x);
    case op::kind::GELU: return x * std::erfc(-x / std::sqrt(2.)) / 2;
    case op::kind::HardSwish: return x * std::min(1., std::max(0., x / 6 + .5));
    case op::kind::Sigmoid: return 1 / (1 + std::exp(-x));
    case op::kind::Square: return x * x;
    case op::kind::Tanh: return std::tanh(x);
    case op::kind::Clamp: {
        const double least = x > static_cast<double>(node.lower)
                                     ? x
                                     : static_cast<double>(node.lower);
        return std::min(static_cast<double>(node.upper), least);
    }
    case op::kind::Quantize: return quantized(node, x, index);
    case op::kind::Dequantize: {
        const auto at = static_cast<size_t>(node.axis);
        const auto channel
                = node.scales.size() > 1 ? static_cast<size_t>(index[at]) : 0;
        return (x - static_cast<double>(node.zps[channel]))
               * static_cast<double>(node.scales[channel]);
    }
    default: return x; // TypeCast
    }
}

// The point of the input that the output's point shows, for ops that move.
dims_t source_of(const chain_node_t &node, const dims_t &index,
        const dims_t &out, const dims_t &in) {
    dims_t source = index;
    if (node.kind == op::kind::StaticTranspose) {
        for (size_t d = 0; d < index.size(); ++d) {
            const auto rank = static_cast<int64_t>(index.size());
            const auto to
                    = node.order[d] < 0 ? node.order[d] + rank : node.order[d];
            source[static_cast<size_t>(to)] = index[d];
        }
    } else if (node.kind == op::kind::StaticReshape) {
        dim_t flat = 0;
        for (size_t d = 0; d < out.size(); ++d)
            flat = flat * out[d] + index[d];
        source.assign(in.size(), 0);
        for (size_t d = in.size(); d-- > 0;) {
            source[d] = flat % in[d];
            flat /= in[d];
        }
    }
    return source;
}

bool has_formula(const chain_node_t &node) {
    switch (node.kind) {
    case op::kind::Add:
    case op::kind::Multiply:
    case op::kind::ReLU:
    case op::kind::Abs:
    case op::kind::Exp:
    case op::kind::GELU:
    case op::kind::HardSwish:
    case op::kind::Sigmoid:
    case op::kind::Square:
    case op::kind::Tanh:
    case op::kind::Clamp:
    case op::kind::Quantize:
    case op::kind::TypeCast: return true;
    default: return moves(node) || dequantizes(node);
    }
}

void compute_points(const chain_node_t &node, const std::vector<port_t> &inputs,
        const port_t &output) {
    const tensor_t &dst = output.tensor;
    if (dst.count() == 0) return;
    dims_t index(dst.dims.size(), 0);
    do {
        uint32_t bits = 0;
        if (moves(node)) {
            bits = inputs[0].bits(
                    source_of(node, index, dst.dims, inputs[0].tensor.dims));
        } else if (is_integer(dst.type)) {
            bits = static_cast<uint32_t>(
                    static_cast<int64_t>(value_at(node, inputs, index)));
        } else {
            const double value
                    = rounded(data_type_t::f32, value_at(node, inputs, index));
            bits = support::round_to(support::format_of(dst.type), value);
        }
        support::put_bits(dst.type, output.data, output.element(index), bits);
    } while (advance(index, dst.dims));
}

} // namespace

void move_elements(const tensor_t &from, const void *source, const tensor_t &to,
        void *destination) {
    const chain_node_t reorder {op::kind::Reorder, {}, {}};
    compute_points(
            reorder, {{from, const_cast<void *>(source)}}, {to, destination});
}

bool compute(const chain_graph_t &g, size_t id, const chain_values_t &values) {
    const chain_node_t &node = g.nodes[id];
    if (!has_formula(node)) return false;
    const auto data = [&](size_t i) { return values[node.inputs[i]].data(); };
    void *dst = values[node.outputs[0]].data();
    if (dequantizes(node) && node.kind != op::kind::Dequantize) {
        support::reference(case_of(g, node), data(0), data(1),
                node.inputs.size() > 2 ? data(2) : nullptr, dst);
        return true;
    }
    std::vector<port_t> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i)
        inputs.push_back({g.tensors[node.inputs[i]], data(i)});
    compute_points(node, inputs, {g.tensors[node.outputs[0]], dst});
    return true;
}

} // namespace e2e
} // namespace dnnl_dequant
