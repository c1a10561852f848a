#include "e2e/matmul_graph.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "dnnl_dequant/dnnl_dequant.hpp"

#include "support/cross_product.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::tensor_t;

namespace {

dims_t swapped(dims_t dims, bool swaps) {
    if (swaps) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    return dims;
}

bool is_of_onnx(data_type_t weights) {
    return is_floating(weights) || bits_of(weights) < 4;
}

dims_t ones_but_last(const dims_t &dims) {
    return {dims.back()};
}

// The product's: either one's batches broadcast.
dims_t shape_of(const matmul_case_t &c) {
    dims_t shape = c.src, other = c.weights;
    if (shape.size() < other.size()) std::swap(shape, other);
    const size_t more = shape.size() - other.size();
    for (size_t d = more; d < shape.size(); ++d)
        shape[d] = std::max(shape[d], other[d - more]);
    shape[shape.size() - 2] = c.src[c.src.size() - 2];
    shape.back() = c.weights.back();
    return shape;
}

// Returns the place of a product's point in a tensor that broadcasts to it. The
// point is the batch of `index`, then row and column.
dim_t element_of(const tensor_t &t, const dims_t &index, dim_t row, dim_t col,
        bool transposed) {
    const size_t rank = t.dims.size(), more = index.size() - rank;
    dim_t element = t.offset;
    for (size_t d = 0; d + 2 < rank; ++d)
        if (t.dims[d] != 1) element += index[more + d] * t.strides[d];
    if (transposed) std::swap(row, col);
    return element + row * t.strides[rank - 2] + col * t.strides[rank - 1];
}

// The elements of a floating tensor, in doubles.
std::vector<double> doubles_of(const tensor_t &t, const void *data) {
    std::vector<double> doubles(static_cast<size_t>(t.span()));
    for (size_t i = 0; i < doubles.size(); ++i)
        doubles[i] = support::float_at(t.type, data, static_cast<dim_t>(i));
    return doubles;
}

} // namespace

std::string to_string(const matmul_case_t &c) {
    std::ostringstream out;
    const auto print = [&out](const char *name, const dims_t &dims) {
        out << name;
        for (const dim_t dim : dims)
            out << ' ' << dim;
    };
    print("src", c.src);
    print(", weights", c.weights);
    out << ", " << to_string(c.quantized) << ", zps " << to_string(c.zps)
        << ", " << to_string(c.type) << ", group " << c.group << " x "
        << c.col_group << (c.transpose_a ? ", a transposed" : "")
        << (c.transpose_b ? ", b transposed" : "")
        << (c.dense ? "" : ", padded") << (c.bias ? ", bias" : "") << ", seed "
        << c.seed;
    return out.str();
}

size_t add_tensor(
        chain_graph_t &g, data_type_t type, const dims_t &dims, bool dense) {
    tensor_t t;
    t.type = type;
    t.dims = dims;
    t.strides = dense ? support::dense_strides(dims)
                      : support::padded_strides(dims, 3);
    g.tensors.push_back(t);
    return g.tensors.size() - 1;
}

chain_graph_t with(chain_graph_t g, chain_node_t node, data_type_t type,
        const dims_t &shape, const std::vector<size_t> &more) {
    node.inputs = {g.nodes.back().outputs[0]};
    node.inputs.insert(node.inputs.end(), more.begin(), more.end());
    node.outputs = {add_tensor(g, type, shape)};
    g.nodes.push_back(node);
    return g;
}

std::vector<matmul_case_t> cases_of(const matmul_cross_t &cross, dim_t one_in) {
    using t = data_type_t;
    std::vector<matmul_case_t> cases;
    dim_t n = 0;
    for (const auto &[src, weights] : cross.shapes)
        for (const t quantized : cross.quantized)
            for (const t zps : cross.zps)
                for (const t type : cross.types)
                    for (const dim_t group : cross.groups)
                        for (int flags = 0; flags < 16; ++flags) {
                            if (group > weights[weights.size() - 2]) continue;
                            const dim_t number = n++;
                            if (number % (one_in * support::every())) continue;
                            matmul_case_t c;
                            c.src = src;
                            c.weights = weights;
                            c.quantized = quantized;
                            c.zps = zps != t::undef && is_of_onnx(quantized)
                                            ? quantized
                                            : zps;
                            c.type = type;
                            c.group = group;
                            c.transpose_a = flags & 1;
                            c.transpose_b = flags & 2;
                            c.dense = flags & 4;
                            c.bias = flags & 8;
                            c.seed = support::first_seed()
                                     + static_cast<uint64_t>(number);
                            cases.push_back(c);
                        }
    return cases;
}

chain_graph_t graph_of(const matmul_case_t &c) {
    chain_graph_t g;
    const dims_t stored = swapped(c.weights, c.transpose_b);
    const size_t rank = stored.size();
    const size_t depth_at = rank - (c.transpose_b ? 1 : 2);
    const size_t col_at = rank - (c.transpose_b ? 2 : 1);

    chain_node_t dequantize {is_of_onnx(c.quantized)
                                     ? op_kind::DequantizeLinear
                                     : op::kind::DynamicDequantize,
            {}, {}};
    dequantize_case_t &how = dequantize.dequantize;
    how.seed = c.seed;
    how.src.dims = stored;
    how.qtype = c.group == 0    ? support::qtype_t::per_tensor
                : c.group == -1 ? support::qtype_t::per_channel
                                : support::qtype_t::per_group;
    how.axis = static_cast<dim_t>(col_at);
    if (c.group > 0) {
        how.group_shape.assign(rank, 1);
        how.group_shape[depth_at] = c.group;
        how.group_shape[col_at] = c.col_group;
    }
    if (is_of_onnx(c.quantized)) {
        how.op = support::dequantize_op_t::linear;
        // One scale is per tensor to ONNX.
        if (c.group == -1 && stored[col_at] == 1)
            how.qtype = support::qtype_t::per_tensor;
    }
    const dims_t grid = support::scales_dims_of(how);
    dequantize.inputs = {add_tensor(g, c.quantized, stored, c.dense),
            add_tensor(g, c.type, grid)};
    if (c.zps != data_type_t::undef)
        dequantize.inputs.push_back(add_tensor(g, c.zps, grid));
    dequantize.outputs = {add_tensor(g, c.type, stored)};

    chain_node_t matmul {op::kind::MatMul, {}, {}};
    matmul.transpose_a = c.transpose_a;
    matmul.transpose_b = c.transpose_b;
    matmul.inputs
            = {add_tensor(g, c.type, swapped(c.src, c.transpose_a), c.dense),
                    dequantize.outputs[0]};
    if (c.bias)
        matmul.inputs.push_back(
                add_tensor(g, c.type, ones_but_last(c.weights)));
    matmul.outputs = {add_tensor(g, c.type, shape_of(c), c.dense)};
    g.nodes = {dequantize, matmul};
    return g;
}

chain_values_t exact_values(const chain_graph_t &g, uint64_t seed) {
    chain_values_t values
            = initial_values(g, support::values_t::ordinary, seed);
    support::random_t random(seed);
    std::vector<bool> is_scale(g.tensors.size(), false), is_zp = is_scale;
    for (const chain_node_t &node : g.nodes) {
        if (!dequantizes(node)) continue;
        is_scale[node.inputs[1]] = true;
        if (node.inputs.size() > 2) is_zp[node.inputs[2]] = true;
    }
    for (size_t t = 0; t < g.tensors.size(); ++t) {
        const tensor_t &tensor = g.tensors[t];
        if (!is_floating(tensor.type) || is_zp[t]) continue;
        const bool is_narrow = bits_of(tensor.type) <= 8;
        for (dim_t i = 0; i < tensor.span(); ++i) {
            const auto any = static_cast<double>(random.between(-4, 4));
            const double value
                    = is_scale[t] ? std::exp2(std::fmod(any, 2)) : any;
            support::put_bits(tensor.type, values[t].data(), i,
                    is_narrow
                            ? support::quantized_bits(tensor.type, any, 0, true)
                            : support::round_to(
                                      support::format_of(tensor.type), value));
        }
    }
    return values;
}

void for_each_product(const chain_graph_t &g, size_t id,
        const chain_values_t &values,
        const std::function<void(const sum_t &)> &point) {
    const chain_node_t &node = g.nodes[id];
    const tensor_t &a = g.tensors[node.inputs[0]];
    const tensor_t &b = g.tensors[node.inputs[1]];
    const tensor_t &dst = g.tensors[node.outputs[0]];
    // Read once, not once a product.
    const auto of_a = doubles_of(a, values[node.inputs[0]].data());
    const auto of_b = doubles_of(b, values[node.inputs[1]].data());
    const size_t rank = dst.dims.size();
    const size_t depth_of_a = a.dims.size() - (node.transpose_a ? 2 : 1);
    const size_t depth_of_b = b.dims.size() - (node.transpose_b ? 1 : 2);
    const dim_t step_a = a.strides[depth_of_a], step_b = b.strides[depth_of_b];
    const dim_t depth = a.dims[depth_of_a];
    dims_t index(rank, 0);
    for (dim_t i = 0; i < dst.count(); ++i) {
        dim_t left = i;
        for (size_t d = rank; d-- > 0; left /= dst.dims[d])
            index[d] = left % dst.dims[d];
        const dim_t row = index[rank - 2], col = index[rank - 1];
        sum_t sum;
        sum.element = element_of(dst, index, row, col, false);
        sum.column = col;
        dim_t x = element_of(a, index, row, 0, node.transpose_a);
        dim_t w = element_of(b, index, 0, col, node.transpose_b);
        for (dim_t k = 0; k < depth; ++k, x += step_a, w += step_b) {
            const double product = of_a[static_cast<size_t>(x)]
                                   * of_b[static_cast<size_t>(w)];
            sum.sum += product;
            sum.magnitude += std::fabs(product);
        }
        point(sum);
    }
}

void compute_exactly(const chain_graph_t &g, const chain_values_t &values) {
    for (size_t id = 0; id < g.nodes.size(); ++id) {
        const chain_node_t &node = g.nodes[id];
        if (node.kind != op::kind::MatMul) {
            compute(g, id, values);
            continue;
        }
        const auto type = g.tensors[node.outputs[0]].type;
        for_each_product(g, id, values, [&](const sum_t &sum) {
            double value = sum.sum;
            if (node.inputs.size() > 2)
                value += support::float_at(g.tensors[node.inputs[2]].type,
                        values[node.inputs[2]].data(), sum.column);
            support::put_bits(type, values[node.outputs[0]].data(), sum.element,
                    support::round_to(support::format_of(type), value));
        });
    }
}

} // namespace e2e
} // namespace dnnl_dequant
