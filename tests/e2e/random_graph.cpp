#include "e2e/random_graph.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dnnl_dequant {
namespace e2e {

using support::random_t;

namespace {

const dims_t &shape() {
    static const dims_t dims {2, 8, 8};
    return dims;
}

class builder_t {
public:
    explicit builder_t(uint64_t seed)
        : random_(seed) {}

    graph_spec_t make() {
        spec_.names_outputs = !random_.one_in(3);
        for (int n = 0; n < 2; ++n)
            pool_.push_back(new_tensor());
        const dim_t steps = random_.between(2, 10);
        for (dim_t step = 0; step < steps; ++step)
            pool_.push_back(any_step());
        return std::move(spec_);
    }

private:
    size_t new_tensor(
            data_type_t type = data_type_t::f32, dims_t dims = shape()) {
        const size_t id = spec_.tensors.size();
        support::tensor_t &tensor = spec_.tensors[id];
        tensor.type = type;
        tensor.strides = support::dense_strides(dims);
        tensor.dims = std::move(dims);
        return id;
    }

    size_t new_node(op::kind kind, const std::vector<size_t> &inputs,
            bool transpose_b = false) {
        const size_t output = new_tensor();
        spec_.nodes.push_back({kind, inputs, output, transpose_b});
        return output;
    }

    size_t any() { return random_.pick(pool_); }

    size_t any_step() {
        switch (random_.between(0, 8)) {
        case 0: return new_node(op::kind::Add, {any(), any()});
        case 1: return new_node(op::kind::Multiply, {any(), any()});
        case 2: return new_node(op::kind::ReLU, {any()});
        case 3: return new_node(op::kind::SoftMax, {any()});
        case 4: return reorder();
        case 5: return attention();
        case 6:
            return new_node(
                    op::kind::MatMul, {any(), dequantize()}, random_.one_in(2));
        default: return dequantize();
        }
    }

    size_t reorder() {
        const size_t output = new_node(op::kind::Reorder, {any()});
        if (random_.one_in(2))
            spec_.tensors[output].strides
                    = support::permuted_strides(shape(), {0, 2, 1});
        return output;
    }

    size_t attention() {
        const auto any_or_new
                = [&] { return random_.one_in(2) ? any() : dequantize(); };
        const size_t keys = any_or_new(), values = any_or_new();
        const size_t scores = new_node(op::kind::MatMul, {any(), keys}, true);
        const size_t scale = new_tensor(data_type_t::f32, {1});
        const size_t scaled = new_node(op::kind::Divide, {scores, scale});
        const size_t masked = new_node(op::kind::Add, {scaled, any()});
        const size_t weights = new_node(op::kind::SoftMax, {masked});
        return new_node(op::kind::MatMul, {weights, values});
    }

    // Granularities that a stock oneDNN runs, and some that it does not.
    dequantize_case_t any_dequantize() {
        auto c = dense_case(shape(),
                random_.pick(std::vector<data_type_t> {data_type_t::s8,
                        data_type_t::u8, data_type_t::s4, data_type_t::u4}),
                data_type_t::f32);
        if (random_.one_in(2)) c.zps.type = data_type_t::s8;
        switch (random_.between(0, 3)) {
        case 0: break;
        case 1: c = per_channel(c, random_.between(-3, 2)); break;
        case 2: c = per_group(c, {1, 1, random_.between(1, 8)}); break;
        default: c = per_group(c, {1, random_.between(1, 8), 1}); break;
        }
        if (random_.one_in(3))
            c.src.strides = support::permuted_strides(shape(), {0, 2, 1});
        c.values = support::values_t::ordinary;
        c.seed = random_.bits();
        return c;
    }

    size_t dequantize() {
        const auto c = any_dequantize();
        std::vector<size_t> inputs;
        for (const auto *tensor : {&c.src, &c.scales, &c.zps})
            if (tensor->present()) {
                inputs.push_back(new_tensor());
                spec_.tensors[inputs.back()] = *tensor;
            }
        spec_.dequantizes[spec_.nodes.size()] = c;
        return new_node(op::kind::DynamicDequantize, inputs);
    }

    random_t random_;
    graph_spec_t spec_;
    std::vector<size_t> pool_;
};

op op_of(const graph_spec_t &spec, size_t id) {
    const node_t &node = spec.nodes[id];
    const std::string name = "op" + std::to_string(id);
    op result(id, node.kind, name);
    if (node.kind == op::kind::MatMul)
        result.set_attr<bool>(op::attr::transpose_b, node.transpose_b);
    if (node.kind == op::kind::SoftMax)
        result.set_attr<int64_t>(op::attr::axis, -1);
    const auto dequantize = spec.dequantizes.find(id);
    if (dequantize != spec.dequantizes.end())
        set_attributes(result, dequantize->second);
    const auto is_given = [&spec](size_t tensor) {
        return std::any_of(spec.nodes.begin(), spec.nodes.end(),
                [tensor](const node_t &n) { return n.output == tensor; });
    };
    const auto declared = [&](size_t port) {
        const support::tensor_t &tensor = spec.tensors.at(port);
        return spec.names_outputs || !is_given(port)
                       ? strided(port, tensor)
                       : of_type_only(port, tensor);
    };
    for (const size_t input : node.inputs)
        result.add_input(declared(input));
    result.add_output(declared(node.output));
    return result;
}

} // namespace

graph_spec_t random_graph(uint64_t seed) {
    return builder_t(seed).make();
}

void build(const graph_spec_t &spec, graph &g) {
    for (size_t id = 0; id < spec.nodes.size(); ++id)
        g.add_op(op_of(spec, id));
    g.finalize();
}

values_of_t initial_values(const graph_spec_t &spec, uint64_t seed) {
    values_of_t values;
    random_t random(seed);
    for (const auto &entry : spec.tensors) {
        const auto &t = entry.second;
        const auto &buffer = values.emplace(entry.first,
                                           support::guarded_buffer_t(t.bytes()))
                                     .first->second;
        if (t.type == data_type_t::f32)
            support::fill_floats(t.type, buffer.data(), buffer.size(),
                    support::values_t::ordinary, random);
        else
            support::fill_integers(
                    t.type, buffer.data(), buffer.size(), random);
    }
    return values;
}

void run(const graph_spec_t &spec, const partition &p, values_of_t &values) {
    run_partition(p, [&](size_t id) {
        return bound_port_t {spec.tensors.at(id), values.at(id).data()};
    });
}

namespace {

// An f32 tensor of three dimensions; of one element, it broadcasts.
class cube_t {
public:
    cube_t(const graph_spec_t &spec, size_t id, values_of_t &values)
        : tensor_(spec.tensors.at(id))
        , data_(static_cast<float *>(values.at(id).data())) {}

    float &at(dim_t i, dim_t j, dim_t k) const {
        if (tensor_.dims.size() != 3) return data_[0];
        const auto &strides = tensor_.strides;
        return data_[i * strides[0] + j * strides[1] + k * strides[2]];
    }
    const dims_t &dims() const { return tensor_.dims; }

private:
    const support::tensor_t &tensor_;
    float *const data_;
};

void softmax(const cube_t &src, const cube_t &dst, dim_t i, dim_t j) {
    const dim_t count = dst.dims()[2];
    double most = src.at(i, j, 0), sum = 0;
    for (dim_t k = 0; k < count; ++k)
        most = std::max<double>(most, src.at(i, j, k));
    for (dim_t k = 0; k < count; ++k)
        sum += std::exp(src.at(i, j, k) - most);
    for (dim_t k = 0; k < count; ++k)
        dst.at(i, j, k)
                = static_cast<float>(std::exp(src.at(i, j, k) - most) / sum);
}

double element(const node_t &node, const std::vector<cube_t> &in, dim_t i,
        dim_t j, dim_t k) {
    const double first = in[0].at(i, j, k);
    switch (node.kind) {
    case op::kind::Add: return first + in[1].at(i, j, k);
    case op::kind::Multiply: return first * in[1].at(i, j, k);
    case op::kind::Divide: return first / in[1].at(i, j, k);
    case op::kind::ReLU: return std::max(first, 0.);
    case op::kind::Reorder: return first;
    case op::kind::MatMul: {
        double sum = 0;
        for (dim_t d = 0; d < in[0].dims()[2]; ++d)
            sum += double(in[0].at(i, j, d))
                   * (node.transpose_b ? in[1].at(i, k, d) : in[1].at(i, d, k));
        return sum;
    }
    default: throw std::logic_error("an op without a formula");
    }
}

} // namespace

void run_formula(const graph_spec_t &spec, size_t id, values_of_t &values) {
    const node_t &node = spec.nodes[id];
    const cube_t dst(spec, node.output, values);
    std::vector<cube_t> in;
    for (const size_t input : node.inputs)
        in.emplace_back(spec, input, values);
    const dims_t &dims = dst.dims();
    for (dim_t i = 0; i < dims[0]; ++i)
        for (dim_t j = 0; j < dims[1]; ++j) {
            if (node.kind == op::kind::SoftMax) softmax(in[0], dst, i, j);
            for (dim_t k = 0; k < dims[2] && node.kind != op::kind::SoftMax;
                    ++k)
                dst.at(i, j, k)
                        = static_cast<float>(element(node, in, i, j, k));
        }
}

void run_reference(const graph_spec_t &spec, size_t id, values_of_t &values) {
    const node_t &node = spec.nodes[id];
    support::reference(spec.dequantizes.at(id),
            values.at(node.inputs[0]).data(), values.at(node.inputs[1]).data(),
            node.inputs.size() > 2 ? values.at(node.inputs[2]).data() : nullptr,
            values.at(node.output).data());
}

} // namespace e2e
} // namespace dnnl_dequant
