#include "e2e/host_scalar.hpp"

#include <dlfcn.h>

#include "oneapi/dnnl/dnnl.h"

namespace dnnl_dequant {
namespace e2e {

using dnnl::graph::logical_tensor;
using dnnl::graph::tensor;

namespace {

constexpr auto host_scalar = static_cast<dnnl_graph_tensor_property_t>(3);

using create_scalar_t = dnnl_status_t(
        dnnl_graph_tensor_t *, const dnnl_graph_logical_tensor_t *, void *);

} // namespace

bool onednn_has_host_scalars() {
    const auto *const version = dnnl_version();
    return version->major > 3 || version->minor >= 12;
}

logical_tensor scalar_tensor(size_t id, data_type_t type) {
    dnnl_graph_logical_tensor_t lt;
    dnnl::error::wrap_c_api(
            dnnl_graph_logical_tensor_init(&lt, id,
                    static_cast<dnnl_data_type_t>(type), 0,
                    dnnl_graph_layout_type_strided, host_scalar),
            "no logical tensor");
    return logical_tensor(lt);
}

dnnl_status_t create_scalar(
        dnnl_graph_tensor_t *made, const logical_tensor &lt, void *value) {
    auto *const create = reinterpret_cast<create_scalar_t *>(
            dlsym(RTLD_DEFAULT, "dnnl_graph_tensor_create_scalar"));
    return create(made,
            reinterpret_cast<const dnnl_graph_logical_tensor_t *>(&lt), value);
}

tensor make_scalar(const logical_tensor &lt, void *value) {
    dnnl_graph_tensor_t made = nullptr;
    dnnl::error::wrap_c_api(create_scalar(&made, lt, value), "no scalar");
    tensor result;
    result.reset(made);
    return result;
}

} // namespace e2e
} // namespace dnnl_dequant
