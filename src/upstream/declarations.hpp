#ifndef UPSTREAM_DECLARATIONS_HPP
#define UPSTREAM_DECLARATIONS_HPP

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_graph.h"

// Functions that oneDNN has since the oldest header we build with (3.7). If the
// header has them, these only declare them again.
extern "C" {
// 3.12
dnnl_status_t DNNL_API dnnl_graph_tensor_create_scalar(
        dnnl_graph_tensor_t *tensor,
        const dnnl_graph_logical_tensor_t *logical_tensor, void *handle);
// 3.13
dnnl_status_t DNNL_API dnnl_graph_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad);
dnnl_status_t DNNL_API
dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_graph_logical_tensor_t *lt);

// oneapi/dnnl/dnnl_sycl.h, dnnl_graph_sycl.h and dnnl_graph_ocl.h, which not
// every oneDNN installs. The last needs OpenCL's own header, for cl_event.
using opencl_event_t = struct _cl_event *;
dnnl_status_t DNNL_API dnnl_sycl_interop_primitive_execute(
        const_dnnl_primitive_t primitive, dnnl_stream_t stream, int nargs,
        const dnnl_exec_arg_t *args, const void *deps, void *return_event);
dnnl_status_t DNNL_API dnnl_graph_sycl_interop_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs, const void *deps, void *sycl_event);
dnnl_status_t DNNL_API dnnl_graph_ocl_interop_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs, const opencl_event_t *deps,
        int ndeps, opencl_event_t *return_event);
// 3.13
dnnl_status_t DNNL_API dnnl_graph_sycl_interop_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad, const void *deps,
        void *sycl_event);
dnnl_status_t DNNL_API dnnl_graph_ocl_interop_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad, const opencl_event_t *deps,
        int ndeps, opencl_event_t *return_event);
}

namespace dnnl_dequant {

using logical_tensor_t = dnnl_graph_logical_tensor_t;

/// dnnl_graph_tensor_property_host_scalar, 3.12.
constexpr int property_host_scalar = 3;

} // namespace dnnl_dequant

#endif
