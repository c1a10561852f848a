// dnnl_graph_tensor_*: the value of a host scalar, which oneDNN copies but
// does not hand out, is remembered.

#include "abi/boundary.hpp"

#include <cstring>

#include "graph/records.hpp"
#include "upstream/mapping.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

extern "C" {

dnnl_status_t dnnl_graph_tensor_create_scalar(dnnl_graph_tensor_t *tensor,
        const dnnl_graph_logical_tensor_t *logical_tensor, void *handle) {
    return enter(&api_t::dnnl_graph_tensor_create_scalar, [=] {
        const dnnl_status_t status =
                upstream::call(&api_t::dnnl_graph_tensor_create_scalar, tensor,
                        logical_tensor, handle);
        if (status != dnnl_success || handle == nullptr) return status;
        auto record = std::make_shared<tensor_record_t>();
        const dim_t bytes = bytes_of(type_of(*logical_tensor), 1);
        std::memcpy(record->scalar.data(), handle, static_cast<size_t>(bytes));
        records().tensors.insert(*tensor, std::move(record));
        return status;
    }, tensor, logical_tensor, handle);
}

dnnl_status_t dnnl_graph_tensor_destroy(dnnl_graph_tensor_t tensor) {
    return enter(&api_t::dnnl_graph_tensor_destroy, [=] {
        records().tensors.erase(tensor);
        return upstream::call(&api_t::dnnl_graph_tensor_destroy, tensor);
    }, tensor);
}

} // extern "C"
