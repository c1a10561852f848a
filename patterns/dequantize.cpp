// A dequantize op by itself:
//
//   src, scales[, zps] -> DynamicDequantize        -> dst
//                       | DequantizeLinear
//                       | ExtendedDequantizeLinear

#include "graph/granularity.hpp"
#include "graph/op_schema.hpp"
#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t match_dequantize(
        const graph_record_t &, const op_record_t &root, match_t &match) {
    if (root.kind != dnnl_graph_op_dynamic_dequantize && !is_linear(root))
        return {status_t::unimplemented,
                describe(root) + ": not a dequantize op"};
    if (result_t result = verify(root); !result.ok()) return result;

    match.kind = partition_kind_t::dequantize;
    match.ops = {&root};
    match.bindings = {{role_t::src, root.inputs[0].id},
            {role_t::scales, root.inputs[1].id},
            {role_t::dst, root.outputs[0].id}};
    if (root.inputs.size() > 2)
        match.bindings.push_back({role_t::zps, root.inputs[2].id});
    return {};
}

} // namespace dnnl_dequant
