#include "dequantize_run.hpp"

#include <exception>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

lt_t dense(size_t id, type_t type, const dims_t &dims) {
    return lt_t(id, type, dims, lt_t::layout_type::strided);
}

lt_t src_of(const bench_case_t &c) {
    if (!c.transposed) return dense(0, c.src, c.dims);
    return lt_t(0, c.src, c.dims, dims_t {1, c.dims[0]});
}

dims_t scale_dims(const bench_case_t &c) {
    const dims_t grid = c.scale_grid();
    return c.granularity == granularity_t::per_group ? grid
                                                     : dims_t {product(grid)};
}

using dnnl::graph::op;

void set_dynamic_attributes(const bench_case_t &c, op &dequantize) {
    switch (c.granularity) {
    case granularity_t::per_tensor:
        dequantize.set_attr<std::string>(op::attr::qtype, "per_tensor");
        break;
    case granularity_t::per_channel:
        dequantize.set_attr<std::string>(op::attr::qtype, "per_channel");
        dequantize.set_attr<int64_t>(op::attr::axis, c.axis);
        break;
    case granularity_t::per_group:
        dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
        dequantize.set_attr<std::vector<int64_t>>(
                op::attr::group_shape, c.group);
        break;
    }
}

// The shape of the scales says the granularity of ONNX's ops.
void set_linear_attributes(const bench_case_t &c, op &dequantize) {
    if (c.granularity == granularity_t::per_channel)
        dequantize.set_attr<int64_t>(op::attr::axis, c.axis);
    if (c.granularity == granularity_t::per_group) {
        dequantize.set_attr<int64_t>(op::attr::axis, -1);
        dequantize.set_attr<int64_t>(attr::block_size, c.group.back());
    }
}

op::kind kind_of(op_t op) {
    switch (op) {
    case op_t::dequantize_linear: return op_kind::DequantizeLinear;
    case op_t::extended_dequantize_linear:
        return op_kind::ExtendedDequantizeLinear;
    case op_t::quantize_linear: return op_kind::QuantizeLinear;
    case op_t::extended_quantize_linear: return op_kind::ExtendedQuantizeLinear;
    case op_t::dynamic_quantize_linear: return op_kind::DynamicQuantizeLinear;
    default: return op::kind::DynamicDequantize;
    }
}

op make_op(const bench_case_t &c, const std::vector<lt_t> &inputs,
        const std::vector<lt_t> &outputs) {
    op result(0, kind_of(c.op), inputs, outputs, "under_test");
    if (c.op == op_t::dynamic_dequantize
            || c.op == op_t::dynamic_quantize_linear)
        set_dynamic_attributes(c, result);
    else set_linear_attributes(c, result);
    return result;
}

} // namespace

const dnnl::engine &cpu_engine() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

dequantize_graph_t::dequantize_graph_t(const bench_case_t &c, owner_t owner) {
    inputs.push_back(src_of(c));
    outputs.push_back(dense(3, c.dst, c.dims));
    auto &parameters = c.op == op_t::dynamic_quantize_linear ? outputs : inputs;
    parameters.push_back(dense(1, c.scales(), scale_dims(c)));
    if (c.zps != type_t::undef)
        parameters.push_back(dense(2, c.zps, scale_dims(c)));

    set_enabled(owner == owner_t::plugin); // taken note of by get_partitions
    dnnl::graph::graph graph(dnnl::engine::kind::cpu);
    graph.add_op(make_op(c, inputs, outputs));
    graph.finalize();
    const auto partitions = graph.get_partitions();
    set_enabled(true);
    partition = partitions.at(0);
}

dnnl::graph::compiled_partition dequantize_graph_t::compile() const {
    return partition.compile(inputs, outputs, cpu_engine());
}

dequantize_run_t::dequantize_run_t(
        const bench_case_t &c, owner_t owner, const buffers_t &buffers)
    : stream_(cpu_engine()) {
    try {
        const dequantize_graph_t graph(c, owner);
        if (!graph.partition.is_supported()) {
            refusal_ = "unsupported";
            return;
        }
        compiled_ = graph.compile();
        kernel_ = impl_info(compiled_);
        bind(graph, buffers);
    } catch (const std::exception &e) {
        // dnnl::error, but oneDNN lets others pass too (3.7.2: a broken
        // promise of its cache, for int4 per tensor).
        refusal_ = e.what();
    }
}

void dequantize_run_t::bind(
        const dequantize_graph_t &graph, const buffers_t &buffers) {
    // Addresses by id.
    void *const all[] = {buffers.src, buffers.scales, buffers.zps, buffers.dst};
    for (const auto &input : graph.inputs)
        inputs_.emplace_back(input, cpu_engine(), all[input.get_id()]);
    for (const auto &output : graph.outputs)
        outputs_.emplace_back(output, cpu_engine(), all[output.get_id()]);
}

void dequantize_run_t::execute() {
    compiled_.execute(stream_, inputs_, outputs_);
}

} // namespace bench
} // namespace dnnl_dequant
