#include "graph/twin.hpp"

#include "dnnl_dequant/dnnl_dequant.h"
#include "upstream/api.hpp"

namespace dnnl_dequant {

bool is_extension_kind(int kind) {
    return kind >= dnnl_dequant_op_ExtendedQuantizeLinear
           && kind <= dnnl_dequant_op_DequantizeLinear;
}

std::shared_ptr<dnnl_graph_op> make_twin(const op_record_t &op) {
    using upstream::api_t;
    dnnl_graph_op_t twin = nullptr;
    if (upstream::call(&api_t::dnnl_graph_op_create, &twin, op.id,
                dnnl_graph_op_wildcard, op.name.c_str())
            != dnnl_success)
        return nullptr;
    std::shared_ptr<dnnl_graph_op> owner(twin, [](dnnl_graph_op_t handle) {
        upstream::call(&api_t::dnnl_graph_op_destroy, handle);
    });
    for (const logical_tensor_t &input : op.inputs)
        if (upstream::call(&api_t::dnnl_graph_op_add_input, twin, &input)
                != dnnl_success)
            return nullptr;
    for (const logical_tensor_t &output : op.outputs)
        if (upstream::call(&api_t::dnnl_graph_op_add_output, twin, &output)
                != dnnl_success)
            return nullptr;
    return owner;
}

} // namespace dnnl_dequant
