#include "e2e/integer_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

chain_graph_t graph_of(const matmul_case_t &c, const quantized_src_t &source) {
    chain_graph_t g = e2e::graph_of(c);
    const size_t src = g.nodes[1].inputs[0];
    const dims_t dims = g.tensors[src].dims;
    dequantize_case_t how;
    how.seed = c.seed;
    how.src.dims = dims;
    how.qtype = source.qtype;
    how.axis = static_cast<dim_t>(dims.size()) - 2;
    how.group_shape.assign(dims.size(), 1);
    how.group_shape.back() = source.group;
    const dims_t grid = support::scales_dims_of(how);
    chain_node_t dequantize {op::kind::DynamicDequantize, {}, {}};
    dequantize.dequantize = how;
    dequantize.inputs = {add_tensor(g, source.type, dims),
            add_tensor(g, data_type_t::f32, grid)};
    if (source.has_zps)
        dequantize.inputs.push_back(add_tensor(g, source.type, grid));
    dequantize.outputs = {src};
    if (source.from_f32) {
        chain_node_t quantize {op::kind::DynamicQuantize, {}, {}};
        quantize.dequantize = how;
        quantize.inputs = dequantize.inputs;
        quantize.inputs[0] = add_tensor(g, data_type_t::f32, dims);
        quantize.outputs = {dequantize.inputs[0]};
        g.nodes.push_back(quantize);
    }
    g.nodes.push_back(dequantize);
    return g;
}

} // namespace e2e
} // namespace dnnl_dequant
