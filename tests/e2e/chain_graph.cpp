#include "e2e/chain_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/plugin.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::tensor_t;

bool dequantizes(const chain_node_t &node) {
    return node.kind == op::kind::Dequantize
           || node.kind == op::kind::DynamicDequantize
           || node.kind == op_kind::DequantizeLinear
           || node.kind == op_kind::ExtendedDequantizeLinear;
}

bool moves(const chain_node_t &node) {
    return node.kind == op::kind::Reorder
           || node.kind == op::kind::StaticTranspose
           || node.kind == op::kind::StaticReshape;
}

dequantize_case_t case_of(const chain_graph_t &g, const chain_node_t &node) {
    dequantize_case_t c = node.dequantize;
    c.src = g.tensors[node.inputs[0]];
    c.scales = g.tensors[node.inputs[1]];
    c.zps = node.inputs.size() > 2 ? g.tensors[node.inputs[2]] : tensor_t();
    c.dst = g.tensors[node.outputs[0]];
    return c;
}

namespace {

void set_static_attributes(op &result, const chain_node_t &node) {
    result.set_attr<std::vector<float>>(op::attr::scales, node.scales);
    result.set_attr<std::vector<int64_t>>(op::attr::zps, node.zps);
    const bool per_channel = node.scales.size() > 1;
    result.set_attr<std::string>(
            op::attr::qtype, per_channel ? "per_channel" : "per_tensor");
    result.set_attr<int64_t>(op::attr::axis, node.axis);
}

void set_node_attributes(op &result, const chain_node_t &node) {
    switch (node.kind) {
    case op::kind::Quantize:
    case op::kind::Dequantize: set_static_attributes(result, node); break;
    case op::kind::StaticTranspose:
        result.set_attr<std::vector<int64_t>>(op::attr::order, node.order);
        break;
    case op::kind::StaticReshape:
        result.set_attr<std::vector<int64_t>>(op::attr::shape, node.shape);
        result.set_attr<bool>(op::attr::special_zero, false);
        break;
    case op::kind::Clamp:
        result.set_attr<float>(op::attr::min, node.lower);
        result.set_attr<float>(op::attr::max, node.upper);
        break;
    case op::kind::MatMul:
        result.set_attr<bool>(op::attr::transpose_a, node.transpose_a);
        result.set_attr<bool>(op::attr::transpose_b, node.transpose_b);
        break;
    case op::kind::SoftMax:
        if (!node.mode.empty())
            result.set_attr<std::string>(op::attr::mode, node.mode);
        [[fallthrough]];
    case op::kind::GenIndex:
        result.set_attr<int64_t>(op::attr::axis, node.along);
        break;
    default:
        if (dequantizes(node) || node.kind == op::kind::DynamicQuantize)
            e2e::set_attributes(result, node.dequantize);
    }
}

} // namespace

op op_of(const chain_graph_t &g, size_t id) {
    const chain_node_t &node = g.nodes[id];
    op result(id, node.kind, "op" + std::to_string(id));
    set_node_attributes(result, node);
    const auto declared = [&g](size_t tensor) {
        const tensor_t &t = g.tensors[tensor];
        const bool shaped
                = g.shaped
                  && std::count(g.unshaped.begin(), g.unshaped.end(), tensor)
                             == 0;
        return shaped ? strided(tensor, t) : of_type_only(tensor, t);
    };
    for (const size_t input : node.inputs)
        result.add_input(declared(input));
    for (const size_t output : node.outputs)
        result.add_output(declared(output));
    return result;
}

void build(const chain_graph_t &g, graph &to) {
    for (size_t id = 0; id < g.nodes.size(); ++id)
        to.add_op(op_of(g, id));
    to.finalize();
}

chain_values_t initial_values(
        const chain_graph_t &g, support::values_t values, uint64_t seed) {
    chain_values_t buffers;
    support::random_t random(seed);
    std::vector<bool> written(g.tensors.size(), false);
    for (const chain_node_t &node : g.nodes)
        for (const size_t output : node.outputs)
            written[output] = true;
    for (const tensor_t &t : g.tensors) {
        const auto edge = random.one_in(2)
                                  ? support::guarded_buffer_t::edge_t::end
                                  : support::guarded_buffer_t::edge_t::start;
        buffers.emplace_back(t.bytes(), edge);
        if (written[buffers.size() - 1]) continue;
        void *data = buffers.back().data();
        if (is_floating(t.type))
            support::fill_floats(t.type, data, t.bytes(), values, random);
        else support::fill_integers(t.type, data, t.bytes(), random);
    }
    // Zero points that an op wants to be zero are.
    for (const chain_node_t &node : g.nodes)
        if (node.kind == op_kind::DequantizeLinear && node.inputs.size() > 2
                && is_floating(g.tensors[node.inputs[2]].type)) {
            const auto &zps = buffers[node.inputs[2]];
            std::fill_n(static_cast<char *>(zps.data()), zps.size(), '\0');
        }
    return buffers;
}

chain_values_t copies_of(const chain_values_t &values, size_t slack) {
    chain_values_t copies;
    for (const auto &buffer : values) {
        copies.emplace_back(
                buffer.size(), support::guarded_buffer_t::edge_t::end, slack);
        std::memcpy(copies.back().data(), buffer.data(), buffer.size());
    }
    return copies;
}

std::string run(const chain_graph_t &g, const partition &p,
        const std::function<void *(size_t)> &data_of) {
    return kernel_of(run_partition(p, [&](size_t id) {
        return bound_port_t {g.tensors[id], data_of(id)};
    }));
}

namespace {

// From gaps to the same gaps oneDNN (3.7.2) copies as many bytes as there
// would be without them, from the first.
bool copies_gaps(const chain_graph_t &g, const chain_node_t &node) {
    if (!moves(node)) return false;
    const tensor_t &t = g.tensors[node.inputs[0]];
    return t.strides == g.tensors[node.outputs[0]].strides
           && t.span() != t.count();
}

} // namespace

bool run_stock(const chain_graph_t &g, size_t id, const chain_values_t &values,
        void *output) {
    const size_t written = g.nodes[id].outputs[0];
    if (copies_gaps(g, g.nodes[id])) return false;
    chain_graph_t alone = g;
    alone.shaped = true;
    if (!moves(g.nodes[id]))
        for (tensor_t &t : alone.tensors)
            t.strides = support::dense_strides(t.dims);
    std::map<size_t, support::guarded_buffer_t> buffers;
    const auto buffer_of = [&](size_t tensor) {
        return buffers.try_emplace(tensor, alone.tensors[tensor].bytes())
                .first->second.data();
    };
    for (const size_t input : g.nodes[id].inputs)
        move_elements(g.tensors[input], values[input].data(),
                alone.tensors[input], buffer_of(input));
    // oneDNN (3.7.2) keeps the ops of a compilation that failed in the keys of
    // its cache, but not alive.
    static std::vector<partition> kept;
    set_plugin_enabled(false);
    const auto status = status_of([&] {
        graph built(dnnl::engine::kind::cpu);
        built.add_op(op_of(alone, id));
        built.finalize();
        const auto p = built.get_partitions(partition::policy::debug).at(0);
        kept.push_back(p);
        run(alone, p, buffer_of);
    });
    set_plugin_enabled(true);
    move_elements(alone.tensors[written], buffer_of(written),
            g.tensors[written], output);
    return status == dnnl_success;
}

bool is_ours(const partition &p) {
    return (reinterpret_cast<uintptr_t>(p.get()) & 1u) != 0;
}

partition only_partition(const chain_graph_t &g) {
    graph built(dnnl::engine::kind::cpu);
    build(g, built);
    const auto partitions = built.get_partitions();
    EXPECT_EQ(partitions.size(), 1u);
    EXPECT_TRUE(is_ours(partitions.at(0)));
    return partitions[0];
}

std::string run(const chain_graph_t &g, const partition &p,
        const chain_values_t &values) {
    return run(g, p, [&](size_t tensor) { return values[tensor].data(); });
}

namespace {

// A subnormal, or what the largest of them may be rounded to.
bool is_tiny(data_type_t type, uint32_t bits) {
    const auto &format = support::format_of(type);
    const uint32_t magnitude = bits & (format.sign_bit() - 1u);
    return magnitude != 0 && magnitude <= 1u << format.fraction_bits;
}

} // namespace

std::string difference_from_stock(const chain_graph_t &g, size_t id,
        const void *expected, const void *stock) {
    const tensor_t &t = g.tensors[g.nodes[id].outputs[0]];
    const op::kind kind = g.nodes[id].kind;
    const bool loose = t.type != data_type_t::f32 || kind == op::kind::TypeCast
                       || kind == op::kind::ReLU || moves(g.nodes[id])
                       || dequantizes(g.nodes[id]);
    std::vector<unsigned char> forgiven(t.bytes());
    std::copy_n(static_cast<const unsigned char *>(stock), t.bytes(),
            forgiven.begin());
    for (dim_t i = 0; loose && is_floating(t.type) && i < t.span(); ++i) {
        const uint32_t want = support::bits_at(t.type, expected, i);
        const double got = support::float_at(t.type, stock, i);
        const bool is_zero = support::float_at(t.type, expected, i) == 0;
        if ((got == 0 && (is_zero || is_tiny(t.type, want)))
                || (kind == op::kind::ReLU && is_zero && std::isnan(got)))
            support::put_bits(t.type, forgiven.data(), i, want);
    }
    for (dim_t i = 0; kind == op::kind::Quantize && i < t.span(); ++i) {
        const int64_t apart = support::integer_at(t.type, stock, i)
                              - support::integer_at(t.type, expected, i);
        const bool from_end_to_end
                = apart == (int64_t {1} << bits_of(t.type)) - 1;
        if (from_end_to_end)
            support::put_bits(t.type, forgiven.data(), i,
                    support::bits_at(t.type, expected, i));
    }
    return support::difference(t.type, expected, forgiven.data(), t.span());
}

namespace {

std::string list(const dims_t &dims) {
    std::string text;
    for (const dim_t dim : dims)
        text += (text.empty() ? "" : ",") + std::to_string(dim);
    return "[" + text + "]";
}

} // namespace

std::string to_string(const chain_graph_t &g) {
    std::ostringstream text;
    const auto print = [&](const std::vector<size_t> &tensors) {
        for (const size_t id : tensors) {
            const tensor_t &t = g.tensors[id];
            text << ' ' << id << ':' << dnnl_dequant::to_string(t.type)
                 << list(t.dims) << list(t.strides);
        }
    };
    for (size_t id = 0; id < g.nodes.size(); ++id) {
        const chain_node_t &node = g.nodes[id];
        text << "\nop" << id << " kind " << static_cast<int>(node.kind);
        print(node.inputs);
        text << " ->";
        print(node.outputs);
        if (!node.order.empty()) text << " order" << list(node.order);
        if (dequantizes(node) && node.kind != op::kind::Dequantize)
            text << ' ' << support::to_string(case_of(g, node));
    }
    return text.str();
}

} // namespace e2e
} // namespace dnnl_dequant
