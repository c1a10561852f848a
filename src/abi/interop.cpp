// dnnl_graph_{sycl,ocl}_interop_compiled_partition_execute*: oneDNN's own where
// it runs the partition. Ours is done when the call returns.

#include "abi/execution.hpp"
#include "pipeline.hpp"

using namespace dnnl_dequant;
using namespace dnnl_dequant::abi;

namespace {

// Calls oneDNN's function for its compiled partition, or the one that serves
// for ours, and `execute` for ours.
template <typename F, typename Execute, typename... Args>
dnnl_status_t route(F api_t::*real, const Execute &execute,
        const_dnnl_graph_compiled_partition_t compiled_partition,
        Args... args) {
    return enter(real, [=] {
        if (!is_ours(compiled_partition))
            return upstream::call(real, compiled_partition, args...);
        const compiled_partition_t &compiled = *as_compiled(compiled_partition);
        if (compiled.upstream)
            return upstream::call(real,
                    const_dnnl_graph_compiled_partition_t(
                            compiled.upstream.get()),
                    args...);
        return execute(compiled);
    }, compiled_partition, args...);
}

// oneDNN's own signatures.
// NOLINTBEGIN(readability-function-size)
template <typename... Args>
dnnl_status_t execute_behind(void *event, const void *deps,
        const compiled_partition_t &compiled, dnnl_stream_t stream,
        Args... args) {
    const dnnl_status_t status = wait_for_sycl(compiled, stream, deps, event);
    return status == dnnl_success ? execute_ours(compiled, stream, args...)
                                  : status;
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_sycl_interop_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs, const void *deps,
        void *sycl_event) {
    return route(&api_t::dnnl_graph_sycl_interop_compiled_partition_execute,
            [=](const compiled_partition_t &compiled) {
        return execute_behind(sycl_event, deps, compiled, stream, num_inputs,
                inputs, num_outputs, outputs);
    }, compiled_partition, stream, num_inputs, inputs, num_outputs, outputs,
            deps, sycl_event);
}

dnnl_status_t dnnl_graph_sycl_interop_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad, const void *deps,
        void *sycl_event) {
    return route(&api_t::dnnl_graph_sycl_interop_compiled_partition_execute_v2,
            [=](const compiled_partition_t &compiled) {
        return execute_behind(sycl_event, deps, compiled, stream, num_inputs,
                inputs, num_outputs, outputs);
    }, compiled_partition, stream, num_inputs, inputs, num_outputs, outputs,
            scratchpad, deps, sycl_event);
}

dnnl_status_t dnnl_graph_ocl_interop_compiled_partition_execute(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs, const opencl_event_t *deps,
        int ndeps, opencl_event_t *return_event) {
    return route(&api_t::dnnl_graph_ocl_interop_compiled_partition_execute,
            refuse_opencl, compiled_partition, stream, num_inputs, inputs,
            num_outputs, outputs, deps, ndeps, return_event);
}

dnnl_status_t dnnl_graph_ocl_interop_compiled_partition_execute_v2(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        dnnl_stream_t stream, size_t num_inputs,
        const_dnnl_graph_tensor_t *inputs, size_t num_outputs,
        const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad, const opencl_event_t *deps,
        int ndeps, opencl_event_t *return_event) {
    return route(&api_t::dnnl_graph_ocl_interop_compiled_partition_execute_v2,
            refuse_opencl, compiled_partition, stream, num_inputs, inputs,
            num_outputs, outputs, scratchpad, deps, ndeps, return_event);
}

} // extern "C"
// NOLINTEND(readability-function-size)
