#include "e2e/dequantize_graph.hpp"

#include <algorithm>
#include <stdexcept>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "e2e/host_scalar.hpp"
#include "e2e/plugin.hpp"
#include "oneapi/dnnl/dnnl.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::guarded_buffer_t;
using support::qtype_t;

dnnl::engine &cpu_engine() {
    static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

dnnl::stream &cpu_stream() {
    static dnnl::stream stream(cpu_engine());
    return stream;
}

logical_tensor::data_type type_of(data_type_t type) {
    return static_cast<logical_tensor::data_type>(type);
}

namespace {

logical_tensor::data_type declared_type(const support::tensor_t &t) {
    return t.is_boolean ? logical_tensor::data_type::boolean : type_of(t.type);
}

} // namespace

logical_tensor strided(size_t id, const support::tensor_t &t) {
    if (t.is_host_scalar) return scalar_tensor(id, t.type);
    return logical_tensor(id, declared_type(t), t.dims, t.strides);
}

logical_tensor of_type_only(size_t id, const support::tensor_t &t) {
    return logical_tensor(
            id, declared_type(t), logical_tensor::layout_type::strided);
}

logical_tensor of_rank_only(size_t id, const support::tensor_t &t) {
    return logical_tensor(id, declared_type(t),
            static_cast<int32_t>(t.dims.size()),
            logical_tensor::layout_type::strided);
}

std::vector<logical_tensor> inputs_of(const dequantize_case_t &c) {
    std::vector<logical_tensor> inputs {
            strided(src_id, c.src), strided(scales_id, c.scales)};
    if (c.zps.present()) inputs.push_back(strided(zps_id, c.zps));
    return inputs;
}

namespace {

op::kind kind_of(support::dequantize_op_t which) {
    switch (which) {
    case support::dequantize_op_t::linear: return op_kind::DequantizeLinear;
    case support::dequantize_op_t::extended_linear:
        return op_kind::ExtendedDequantizeLinear;
    case support::dequantize_op_t::quantize_linear:
        return op_kind::QuantizeLinear;
    case support::dequantize_op_t::extended_quantize_linear:
        return op_kind::ExtendedQuantizeLinear;
    case support::dequantize_op_t::dynamic_quantize:
        return op::kind::DynamicQuantize;
    default: return op::kind::DynamicDequantize;
    }
}

// The ONNX-shaped ops: an axis, which is 1 if not set, and a block size.
void set_linear_attributes(op &dequantize, const dequantize_case_t &c) {
    if (!c.saturate) dequantize.set_attr<bool>(attr::saturate, false);
    if (c.qtype == qtype_t::per_tensor) return;
    const bool blocked = c.qtype == qtype_t::per_group;
    const auto at = support::axis_dimension(c);
    const auto rank = static_cast<dim_t>(c.src.dims.size());
    auto axis = static_cast<dim_t>(at);
    if (blocked ? c.seed % 2 != 0 : c.axis < 0) axis -= rank;
    if (axis != 1) dequantize.set_attr<int64_t>(op::attr::axis, axis);
    if (blocked)
        dequantize.set_attr<int64_t>(attr::block_size, c.group_shape[at]);
}

} // namespace

void set_attributes(op &dequantize, const dequantize_case_t &c) {
    if (is_linear(c.op)) return set_linear_attributes(dequantize, c);
    switch (c.qtype) {
    case qtype_t::per_tensor:
        dequantize.set_attr<std::string>(op::attr::qtype, "per_tensor");
        break;
    case qtype_t::per_channel:
        dequantize.set_attr<std::string>(op::attr::qtype, "per_channel");
        dequantize.set_attr<int64_t>(op::attr::axis, c.axis);
        break;
    case qtype_t::per_group:
        dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
        dequantize.set_attr<std::vector<int64_t>>(
                op::attr::group_shape, c.group_shape);
        break;
    }
}

op bare_op(const dequantize_case_t &c) {
    op result(0, kind_of(c.op), "dequantize_under_test");
    set_attributes(result, c);
    return result;
}

op op_of(const dequantize_case_t &c) {
    op result = bare_op(c);
    result.add_inputs(inputs_of(c));
    result.add_outputs({strided(dst_id, c.dst)});
    return result;
}

partition partition_of(const op &dequantize) {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(dequantize);
    g.finalize();
    auto partitions = g.get_partitions();
    if (partitions.size() != 1)
        throw std::runtime_error(
                std::to_string(partitions.size()) + " partitions");
    return partitions.front();
}

namespace {

// The JIT's name where it is sure to take the case, else empty.
std::string expected_kernel(const dequantize_case_t &c) {
    bool unit_stride = false;
    for (size_t d = 0; d < c.dst.dims.size(); ++d)
        if (c.dst.dims[d] > 1 && c.dst.strides[d] == 1) unit_stride = true;
    if (!unit_stride || c.dst.count() == 0) return "";
    const std::string jit
            = is_quantize(c.op) ? "jit_quantize_" : "jit_dequantize_";
    if (cpu_has(dnnl_cpu_isa_avx512_core)) return jit + "avx512_core";
    if (cpu_has(dnnl_cpu_isa_avx2)) return jit + "avx2";
    return "";
}

} // namespace

std::string check_kernel(
        const dequantize_case_t &c, const compiled_partition &compiled) {
    const std::string kernel = kernel_of(compiled);
    if (kernel.empty()) return "not our kernel ran";
    const std::string expected = expected_kernel(c);
    if (expected.empty() || kernel == expected) return "";
    return "ran " + kernel + ", expected " + expected;
}

namespace {

// The buffers of one execution; at the end of their pages, or at the start.
struct buffers_t {
    guarded_buffer_t src, scales, zps, dst, expected;

    buffers_t(const dequantize_case_t &c, guarded_buffer_t::edge_t edge)
        : src(c.src.bytes(), edge)
        , scales(c.scales.bytes(), edge)
        , zps(c.zps.present() ? c.zps.bytes() : 0, edge)
        , dst(c.dst.bytes(), edge)
        , expected(c.dst.bytes()) {
        support::fill(c, src.data(), scales.data(), zps.data());
        support::reference(
                c, src.data(), scales.data(), zps.data(), expected.data());
    }

    bool intact() const {
        return src.intact() && scales.intact() && zps.intact() && dst.intact();
    }
};

} // namespace

std::string check_execution(
        const dequantize_case_t &c, const compiled_partition &compiled) {
    const buffers_t buffers(c, c.seed % 2 ? guarded_buffer_t::edge_t::end
                                          : guarded_buffer_t::edge_t::start);
    const auto &engine = cpu_engine();
    std::vector<tensor> inputs {
            tensor(strided(src_id, c.src), engine, buffers.src.data()),
            tensor(strided(scales_id, c.scales), engine,
                    buffers.scales.data())};
    if (c.zps.present())
        inputs.emplace_back(strided(zps_id, c.zps), engine, buffers.zps.data());
    // Tensors are told apart by their ids.
    if (c.seed % 3 == 0) std::reverse(inputs.begin(), inputs.end());
    const tensor dst(strided(dst_id, c.dst), engine, buffers.dst.data());
    compiled.execute(cpu_stream(), inputs, {dst});
    cpu_stream().wait();
    if (!buffers.intact()) return "wrote outside a buffer";
    return support::difference(c.dst.type, buffers.expected.data(),
            buffers.dst.data(), c.dst.span());
}

std::string check_case(const dequantize_case_t &c) {
    try {
        partition p = partition_of(op_of(c));
        if (!p.is_supported()) return "not supported";
        auto inputs = inputs_of(c);
        if (c.seed % 5 == 0) std::reverse(inputs.begin(), inputs.end());
        const compiled_partition compiled
                = p.compile(inputs, {strided(dst_id, c.dst)}, cpu_engine());
        const std::string wrong = check_execution(c, compiled);
        if (!wrong.empty()) return kernel_of(compiled) + ": " + wrong;
        return check_kernel(c, compiled);
    } catch (const std::exception &e) {
        return std::string("threw: ") + e.what();
    }
}

compiled_partition compile_or_throw(const partition &p,
        const std::vector<logical_tensor> &inputs,
        const std::vector<logical_tensor> &outputs) {
    using c_tensors_t = std::vector<const dnnl_graph_logical_tensor_t *>;
    const auto pointers = [](const std::vector<logical_tensor> &tensors) {
        c_tensors_t result;
        for (const auto &t : tensors)
            result.push_back(
                    reinterpret_cast<const dnnl_graph_logical_tensor_t *>(&t));
        return result;
    };
    if (!p.is_supported())
        throw dnnl::error(dnnl_invalid_arguments, "not supported");
    dnnl_graph_compiled_partition_t handle = nullptr;
    dnnl::error::wrap_c_api(
            dnnl_graph_compiled_partition_create(&handle, p.get()),
            "no compiled partition");
    compiled_partition compiled;
    compiled.reset(handle);
    c_tensors_t in = pointers(inputs), out = pointers(outputs);
    dnnl::error::wrap_c_api(
            dnnl_graph_partition_compile(p.get(), handle, in.size(), in.data(),
                    out.size(), out.data(), cpu_engine().get()),
            "compile failed");
    return compiled;
}

compiled_partition run_partition(const partition &p,
        const std::function<bound_port_t(size_t id)> &port_of) {
    std::vector<logical_tensor> inputs, outputs;
    std::vector<tensor> from, to;
    const auto append = [&](const std::vector<logical_tensor> &ports,
                                std::vector<logical_tensor> &lts,
                                std::vector<tensor> &tensors) {
        for (const auto &given : ports) {
            const size_t id = given.get_id();
            const bound_port_t port = port_of(id);
            lts.push_back(strided(id, port.tensor));
            tensors.push_back(
                    port.tensor.is_host_scalar
                            ? make_scalar(lts.back(), port.values)
                            : tensor(lts.back(), cpu_engine(), port.values));
        }
    };
    append(p.get_input_ports(), inputs, from);
    append(p.get_output_ports(), outputs, to);
    auto compiled = compile_or_throw(p, inputs, outputs);
    compiled.execute(cpu_stream(), from, to);
    cpu_stream().wait();
    return compiled;
}

dnnl_status_t status_of(const std::function<void()> &call) {
    try {
        call();
    } catch (const dnnl::error &e) {
        return e.status;
    }
    return dnnl_success;
}

dequantize_case_t dense_case(
        const dims_t &dims, data_type_t src, data_type_t dst, data_type_t zps) {
    dequantize_case_t c;
    c.src = {src, dims, support::dense_strides(dims)};
    c.dst = {dst, dims, support::dense_strides(dims)};
    c.scales = {dst, {1}, {1}};
    c.zps = {zps, {1}, {1}};
    c.seed = 1;
    return c;
}

namespace {

dequantize_case_t with_dense_parameters(dequantize_case_t c) {
    c.scales.dims = c.zps.dims = support::scales_dims_of(c);
    c.scales.strides = c.zps.strides = support::dense_strides(c.scales.dims);
    return c;
}

} // namespace

dequantize_case_t per_channel(dequantize_case_t c, dim_t axis) {
    c.qtype = qtype_t::per_channel;
    c.axis = axis;
    return with_dense_parameters(c);
}

dequantize_case_t per_group(dequantize_case_t c, const dims_t &group_shape) {
    c.qtype = qtype_t::per_group;
    c.group_shape = group_shape;
    return with_dense_parameters(c);
}

} // namespace e2e
} // namespace dnnl_dequant
