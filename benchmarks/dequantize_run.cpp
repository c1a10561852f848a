#include "dequantize_run.hpp"

#include <exception>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using dims_t = lt_t::dims;

lt_t strided(
        size_t id, type_t type, const dims_t &dims, const dims_t &strides) {
    return lt_t(id, type, dims, strides);
}

lt_t dense(size_t id, type_t type, const dims_t &dims) {
    return lt_t(id, type, dims, lt_t::layout_type::strided);
}

dims_t scale_dims(const bench_case_t &c) {
    switch (c.granularity) {
    case granularity_t::per_tensor: return {1};
    case granularity_t::per_channel: return {c.scale_rows() * c.scale_cols()};
    default: return {c.scale_rows(), c.scale_cols()};
    }
}

dnnl::graph::op make_op(const bench_case_t &c, const std::vector<lt_t> &inputs,
        const std::vector<lt_t> &outputs) {
    using dnnl::graph::op;
    op dequantize(
            0, op::kind::DynamicDequantize, inputs, outputs, "dequantize");
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
                op::attr::group_shape, {c.group_rows, c.group_cols});
        break;
    }
    return dequantize;
}

} // namespace

const dnnl::engine &cpu_engine() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

dequantize_graph_t::dequantize_graph_t(const bench_case_t &c, owner_t owner) {
    const dims_t dims {c.rows, c.cols};
    const dims_t by_column {1, c.rows}, by_row {c.cols, 1};
    inputs.push_back(
            strided(0, c.src, dims, c.transposed ? by_column : by_row));
    inputs.push_back(dense(1, c.dst, scale_dims(c)));
    if (c.zps != type_t::undef)
        inputs.push_back(dense(2, c.zps, scale_dims(c)));
    outputs.push_back(dense(3, c.dst, dims));

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
    void *const all[] = {buffers.src, buffers.scales, buffers.zps};
    for (size_t i = 0; i < graph.inputs.size(); i++)
        inputs_.emplace_back(graph.inputs[i], cpu_engine(), all[i]);
    outputs_.emplace_back(graph.outputs[0], cpu_engine(), buffers.dst);
}

void dequantize_run_t::execute() {
    compiled_.execute(stream_, inputs_, outputs_);
}

} // namespace bench
} // namespace dnnl_dequant
