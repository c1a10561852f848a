#ifndef E2E_HOST_SCALAR_HPP
#define E2E_HOST_SCALAR_HPP

#include "base/data_type.hpp"
#include "oneapi/dnnl/dnnl_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

// Values on the host, which oneDNN has since 3.12. The headers that we build
// with may be older than the library that we meet.

bool onednn_has_host_scalars();

dnnl::graph::logical_tensor scalar_tensor(size_t id, data_type_t type);

/// oneDNN's function of this name.
dnnl_status_t create_scalar(dnnl_graph_tensor_t *made,
        const dnnl::graph::logical_tensor &lt, void *value);

/// Takes the value. Throws where oneDNN has no such tensors.
dnnl::graph::tensor make_scalar(
        const dnnl::graph::logical_tensor &lt, void *value);

} // namespace e2e
} // namespace dnnl_dequant

#endif
