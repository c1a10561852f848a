// dnnl_graph_tensor_*, dnnl_graph_logical_tensor_get_mem_size: tensors of
// extension types are tensors of bytes to oneDNN; the values of host scalars
// are remembered.

#include "abi/boundary.hpp"

#include <cstring>

#include "graph/logical_tensor.hpp"
#include "graph/records.hpp"
#include "upstream/mapping.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

extern "C" {

dnnl_status_t dnnl_graph_logical_tensor_get_mem_size(
        const dnnl_graph_logical_tensor_t *logical_tensor, size_t *size) {
    constexpr auto real = &api_t::dnnl_graph_logical_tensor_get_mem_size;
    return enter(real, [=] {
        if (logical_tensor == nullptr || size == nullptr
                || !is_extension_type(type_of(*logical_tensor)))
            return upstream::call(real, logical_tensor, size);
        *size = memory_size(*logical_tensor);
        return dnnl_success;
    }, logical_tensor, size);
}

dnnl_status_t dnnl_graph_tensor_create(dnnl_graph_tensor_t *tensor,
        const dnnl_graph_logical_tensor_t *logical_tensor, dnnl_engine_t engine,
        void *handle) {
    constexpr auto real = &api_t::dnnl_graph_tensor_create;
    return enter(real, [=] {
        if (logical_tensor == nullptr
                || !is_extension_type(type_of(*logical_tensor)))
            return upstream::call(real, tensor, logical_tensor, engine, handle);
        const logical_tensor_t bytes = as_bytes(*logical_tensor);
        const dnnl_status_t status
                = upstream::call(real, tensor, &bytes, engine, handle);
        if (status != dnnl_success) return status;
        complete(tensor, &api_t::dnnl_graph_tensor_destroy, [=] {
            auto record = std::make_shared<tensor_record_t>();
            record->logical_tensor = *logical_tensor;
            records().tensors.insert(*tensor, std::move(record));
        });
        return status;
    }, tensor, logical_tensor, engine, handle);
}

dnnl_status_t dnnl_graph_tensor_create_scalar(dnnl_graph_tensor_t *tensor,
        const dnnl_graph_logical_tensor_t *logical_tensor, void *handle) {
    return enter(&api_t::dnnl_graph_tensor_create_scalar, [=] {
        const dnnl_status_t status
                = upstream::call(&api_t::dnnl_graph_tensor_create_scalar,
                        tensor, logical_tensor, handle);
        if (status != dnnl_success || handle == nullptr) return status;
        complete(tensor, &api_t::dnnl_graph_tensor_destroy, [=] {
            auto record = std::make_shared<tensor_record_t>();
            const dim_t bytes = bytes_of(type_of(*logical_tensor), 1);
            auto &scalar = record->scalar.emplace();
            std::memcpy(scalar.data(), handle, static_cast<size_t>(bytes));
            records().tensors.insert(*tensor, std::move(record));
        });
        return status;
    }, tensor, logical_tensor, handle);
}

dnnl_status_t dnnl_graph_tensor_destroy(dnnl_graph_tensor_t tensor) {
    return enter(&api_t::dnnl_graph_tensor_destroy, [=] {
        records().tensors.erase(tensor);
        return upstream::call(&api_t::dnnl_graph_tensor_destroy, tensor);
    }, tensor);
}

dnnl_status_t dnnl_graph_tensor_get_logical_tensor(
        const_dnnl_graph_tensor_t tensor,
        dnnl_graph_logical_tensor_t *logical_tensor) {
    constexpr auto real = &api_t::dnnl_graph_tensor_get_logical_tensor;
    return enter(real, [=] {
        const dnnl_status_t status
                = upstream::call(real, tensor, logical_tensor);
        const auto record = records().tensors.find(tensor);
        if (status == dnnl_success && record && record->logical_tensor)
            *logical_tensor = *record->logical_tensor;
        return status;
    }, tensor, logical_tensor);
}

} // extern "C"
