#include "exec/compiled_partition.hpp"

#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;

std::vector<const logical_tensor_t *> pointers(
        const std::vector<logical_tensor_t> &tensors) {
    std::vector<const logical_tensor_t *> result;
    for (const logical_tensor_t &tensor : tensors)
        result.push_back(&tensor);
    return result;
}

} // namespace

std::shared_ptr<dnnl_graph_compiled_partition> compile_upstream(
        dnnl_graph_partition &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, dnnl_engine_t engine) {
    uint8_t supported = 0;
    upstream::call(&api_t::dnnl_graph_partition_is_supported,
            const_dnnl_graph_partition_t(&partition), &supported);
    dnnl_graph_compiled_partition_t handle = nullptr;
    if (!supported
            || upstream::call(&api_t::dnnl_graph_compiled_partition_create,
                       &handle, &partition)
                       != dnnl_success)
        return nullptr;
    std::shared_ptr<dnnl_graph_compiled_partition> compiled(
            handle, [](dnnl_graph_compiled_partition_t h) {
        upstream::call(&api_t::dnnl_graph_compiled_partition_destroy, h);
    });
    auto in = pointers(inputs), out = pointers(outputs);
    const dnnl_status_t status = upstream::call(
            &api_t::dnnl_graph_partition_compile, &partition, handle, in.size(),
            in.data(), out.size(), out.data(), engine);
    return status == dnnl_success ? compiled : nullptr;
}

} // namespace dnnl_dequant
