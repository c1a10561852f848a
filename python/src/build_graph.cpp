// This file makes a partition of oneDNN's graph API from the description that
// Python gives.

#include "build_graph.hpp"

#include <dlfcn.h>

#include <string>

#include "dnnl_dequant/dnnl_dequant.h"

namespace dnnl_dequant_python {

using dnnl::graph::graph;
using dnnl::graph::op;
using dnnl::graph::partition;

namespace {

logical_tensor_t make_tensor(const dnnl_dequant_python_tensor_t &tensor) {
    const auto type
            = static_cast<logical_tensor_t::data_type>(tensor.data_type);
    const logical_tensor_t::dims dims(tensor.dims, tensor.dims + tensor.rank);
    const logical_tensor_t::dims strides(
            tensor.strides, tensor.strides + tensor.rank);
    if (dims.empty())
        return {tensor.id, type, dims, logical_tensor_t::layout_type::strided};
    return {tensor.id, type, dims, strides};
}

void set_attribute(op &made, const dnnl_dequant_python_attribute_t &attribute) {
    const auto name = static_cast<op::attr>(attribute.name);
    const auto *numbers = static_cast<const int64_t *>(attribute.value);
    switch (attribute.value_kind) {
    case dnnl_dequant_python_s64: made.set_attr(name, *numbers); break;
    case dnnl_dequant_python_bool: made.set_attr(name, *numbers != 0); break;
    case dnnl_dequant_python_s64s:
        made.set_attr(
                name, std::vector<int64_t>(numbers, numbers + attribute.count));
        break;
    case dnnl_dequant_python_string:
        made.set_attr(
                name, std::string(static_cast<const char *>(attribute.value)));
        break;
    default:
        throw dnnl::error(dnnl_invalid_arguments,
                "an attribute is of a kind that the package does not have");
    }
}

// The loader gives a call to the first library that has the function, and
// libraries that the process opened for all stand before the package's.
template <typename function_t>
const void *library_of(function_t *function) {
    Dl_info found;
    return dladdr(reinterpret_cast<void *>(function), &found) != 0
                   ? found.dli_fbase
                   : nullptr;
}

void check_plugin() {
    static const bool is_reached = library_of(&dnnl_graph_graph_finalize)
                                   == library_of(&dnnl_dequant_version);
    if (!is_reached)
        throw dnnl::error(dnnl_runtime_error,
                "another oneDNN, opened with RTLD_GLOBAL or preloaded, stands "
                "before the package's");
}

op make_op(size_t id, const dnnl_dequant_python_op_t &description,
        const tensors_by_id_t &tensors) {
    std::vector<logical_tensor_t> inputs, outputs;
    for (int i = 0; i < description.input_count; ++i)
        inputs.push_back(tensors.at(description.inputs[i]));
    for (int i = 0; i < description.output_count; ++i)
        outputs.push_back(tensors.at(description.outputs[i]));
    op made(id, static_cast<op::kind>(description.kind), inputs, outputs,
            "python" + std::to_string(id));
    for (int i = 0; i < description.attribute_count; ++i)
        set_attribute(made, description.attributes[i]);
    return made;
}

} // namespace

tensors_by_id_t tensors_of(const dnnl_dequant_python_graph_t &description) {
    tensors_by_id_t tensors;
    for (uint64_t i = 0; i < description.tensor_count; ++i)
        tensors.emplace(
                description.tensors[i].id, make_tensor(description.tensors[i]));
    return tensors;
}

partition partition_of(const dnnl_dequant_python_graph_t &description,
        const tensors_by_id_t &tensors) {
    check_plugin();
    graph made(dnnl::engine::kind::cpu);
    for (uint64_t i = 0; i < description.op_count; ++i)
        made.add_op(make_op(i, description.ops[i], tensors));
    made.finalize();
    const std::vector<partition> partitions = made.get_partitions();
    if (partitions.size() == 1 && partitions[0].is_supported())
        return partitions[0];
    throw dnnl::error(dnnl_unimplemented,
            partitions.size() == 1
                    ? "no kernel takes these types and shapes"
                    : "the ops do not fuse for these types and shapes");
}

} // namespace dnnl_dequant_python
