#include "exec/log_text.hpp"

#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

const char *layout_name(dnnl_graph_layout_type_t layout) {
    switch (layout) {
    case dnnl_graph_layout_type_any: return "any";
    case dnnl_graph_layout_type_strided: return "strided";
    case dnnl_graph_layout_type_opaque: return "opaque";
    default: return "undef";
    }
}

const char *property_name(int property) {
    switch (property) {
    case dnnl_graph_tensor_property_variable: return "variable";
    case dnnl_graph_tensor_property_constant: return "constant";
    case property_host_scalar: return "host_scalar";
    default: return "undef";
    }
}

const char *fpmath_name(dnnl_fpmath_mode_t mode) {
    switch (mode) {
    case dnnl_fpmath_mode_strict: return "strict";
    case dnnl_fpmath_mode_bf16: return "bf16";
    case dnnl_fpmath_mode_f16: return "f16";
    case dnnl_fpmath_mode_any: return "any";
    case dnnl_fpmath_mode_tf32: return "tf32";
    }
    return "undef";
}

// in0_u8:0:strided:undef:4x8:8s1
std::string tensor_text(
        const char *side, size_t index, const logical_tensor_t &tensor) {
    std::string text = side + std::to_string(index) + "_"
                       + to_string(type_of(tensor)) + ":"
                       + std::to_string(tensor.id) + ":"
                       + layout_name(tensor.layout_type) + ":"
                       + property_name(tensor.property) + ":";
    if (tensor.ndims > 0) text += dims_string(dims_of(tensor));
    text += ":";
    for (int d = 0; d < tensor.ndims; ++d)
        text += (d ? "s" : "") + std::to_string(tensor.layout.strides[d]);
    return text;
}

} // namespace

std::string make_log_text(
        const partition_t &partition, const lowered_t &lowered) {
    std::string names, tensors;
    for (const op_record_t &op : partition.ops)
        names += (names.empty() ? "" : ";") + printable(op.name);
    for (size_t i = 0; i < lowered.inputs.size(); ++i)
        tensors += tensor_text("in", i, lowered.inputs[i]) + " ";
    for (size_t i = 0; i < lowered.outputs.size(); ++i)
        tensors += (i ? " " : "") + tensor_text("out", i, lowered.outputs[i]);
    return "cpu," + std::to_string(partition.id) + ","
           + to_string(partition.kind) + "," + names + ",," + tensors
           + ",fpm:" + fpmath_name(partition.fpmath_mode) + ","
           + lowered.implementation.name + ",dequant_backend";
}

} // namespace dnnl_dequant
